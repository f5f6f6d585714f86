# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In which namespace a hub has the keys of its certificate authorities, and which other hubs its cluster has.

Every hub records its own on the ConfigMap C(superlink-clients). The default is the hub's namespace with the suffix C(-ca); it was
C(flower-ca) in earlier releases, and a hub that has its keys there keeps them there.
"""

from __future__ import annotations

from ..base.labels import MANAGER
from ..base.object_names import CA_NAMESPACE_ANNOTATION, CA_SECRETS, CLIENTS_CONFIG
from ..base.values import Object
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster
from ..marks.proof import MANAGED_BY, annotations_of, belongs, holder


def default(namespace: str) -> str:
    """The namespace of the CA keys unless a variable is set."""
    return f"{namespace}-ca"


def noted(hub: Cluster, namespace: str) -> str:
    """The namespace that a hub has its CA keys in; empty where it has none yet."""
    try:
        config = hub.get("v1", "ConfigMap", CLIENTS_CONFIG, namespace)
    except Forbidden:
        return ""  # the check of the rights reports this one
    return annotations_of(config).get(CA_NAMESPACE_ANNOTATION, "") if config else ""


def resolve(hub: Cluster, namespace: str, given: str) -> str:
    """The namespace to use: the given one; if that is only the default, the one with the hub's keys.

    Args:
        hub: a connection.
        namespace: that of the SuperLink.
        given: the value of the variable.
    """
    return (noted(hub, namespace) or given) if given == default(namespace) else given


def others(hub: Cluster, namespace: str, ca_namespace: str) -> list[str]:
    """Namespaces of other hubs that have their CA keys in C(ca_namespace), as far as this identity may see that."""
    return sorted(place for place, one in _other_hubs(hub, namespace).items() if annotations_of(one).get(CA_NAMESPACE_ANNOTATION) == ca_namespace)


def second_hub(hub: Cluster, namespace: str, federation: str) -> str:
    """A warning for a hub that is not deployed yet, where its federation has another one in this cluster; empty if none can be seen."""
    places = sorted(place for place, one in _other_hubs(hub, namespace).items() if belongs(one, federation))
    if not places:
        return ""
    return (
        f"the federation {federation} already has a hub in namespace {', '.join(places)} of this cluster. A hub does not move: this is going to be another "
        f"one in namespace {namespace}, without its runs and keys, and the sites stay with the first. If flower_namespace was changed by mistake, "
        "change it back; for a second federation, set flower_federation to another name"
    )


def _other_hubs(hub: Cluster, namespace: str) -> dict[str, Object]:
    """Namespace -> what a hub there records, as far as this identity may see that."""
    if not all(hub.access_review([{"verb": "list", "resource": "configmaps"}])):
        return {}
    found = hub.list("v1", "ConfigMap", labels=f"{MANAGED_BY}={MANAGER},app.kubernetes.io/component=clients")
    return {one["metadata"]["namespace"]: one for one in found if one["metadata"]["namespace"] != namespace}


def fault(hub: Cluster, namespace: str, ca_namespace: str, federation: str) -> str:
    """Why a hub cannot store its CA keys in this namespace: a sentence; empty if it may, or has them there already."""
    if noted(hub, namespace) == ca_namespace:
        return ""
    why = ""
    for name in CA_SECRETS:
        try:
            there = hub.get("v1", "Secret", name, ca_namespace)
        except Forbidden:
            return ""
        if there is not None and not belongs(there, federation):
            why = f"Secret {name} in it {holder(there)}"
            break
    users = others(hub, namespace, ca_namespace)
    if not why and users:
        why = f"it contains the CA keys of the hub in namespace {', '.join(users)}"
    if not why:
        return ""
    return (
        f"flower_ca_namespace: {ca_namespace} cannot contain the CA keys of the federation {federation}: {why}. Two federations need "
        f"two such namespaces: set flower_ca_namespace to another name, for example {default(namespace)}."
    )
