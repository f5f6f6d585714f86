# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The namespace of a hub's certificate authorities, and projects of OpenShift, where an identity may create no Namespace.

Every hub records its own on the ConfigMap C(superlink-clients). The default is the hub's namespace with the suffix C(-ca); it was
C(flower-ca) in earlier releases, and a hub that has its keys there keeps them there.

The request carries the mark of the federation (C(marks/proof.py)): no one can set it later but in the description, and there is no moment
in which the project exists without it. OpenShift creates the Namespace and makes the requester its administrator.

Source: openshift/api, project/v1 (C(ProjectRequest)); OpenShift documentation, «Configuring project creation».
"""

from __future__ import annotations

from collections.abc import Sequence

from ..apply.wait import Waiter
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.object_names import CA_NAMESPACE_ANNOTATION, CA_SECRETS, CLIENTS_CONFIG
from ..base.values import Object
from ..kube.api_errors import Conflict, Forbidden
from ..kube.client import Cluster
from ..kube.cluster_platform import PROJECT_API, PROJECTS, has_projects
from ..marks import proof
from ..marks.proof import MANAGED_BY, annotations_of, belongs, holder

_TAKEN_SECONDS = 15.0  # until its requester can see a project, at the latest


def default_ca_namespace(namespace: str) -> str:
    """The namespace of the CA keys unless a variable is set."""
    return f"{namespace}-ca"


def readable(cluster: Cluster, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
    """An object; one that may not be read counts as absent. To those who may only request projects, a Namespace that does not exist is forbidden."""
    try:
        return cluster.get(api_version, kind, name, namespace)
    except Forbidden:
        return None


def noted_ca_namespace(hub: Cluster, namespace: str) -> str:
    """The namespace that a hub has its CA keys in; empty where it has none yet, or that may not be read, which the check of the rights reports."""
    config = readable(hub, "v1", "ConfigMap", CLIENTS_CONFIG, namespace)
    return annotations_of(config).get(CA_NAMESPACE_ANNOTATION, "") if config else ""


def resolve_ca_namespace(hub: Cluster, namespace: str, given: str) -> str:
    """The namespace to use: the one with the hub's keys; the given one for a hub that has none yet.

    Args:
        namespace: that of the SuperLink.
        given: the value of the variable.

    Raises:
        ClusterError: another one is given, and not only as the default. New CAs there would lock out every site.
    """
    noted = noted_ca_namespace(hub, namespace)
    if noted and given not in (noted, default_ca_namespace(namespace)):
        raise ClusterError(
            f"flower_ca_namespace: {given}: the hub in namespace {namespace} on {hub.name} has its CA keys in {noted}, and they cannot be moved: sites "
            f"would reject those of new ones. Set it to {noted}. Nothing was changed."
        )
    return noted or given


def others(hub: Cluster, namespace: str, ca_namespace: str) -> list[str]:
    """Namespaces of other hubs that have their CA keys in C(ca_namespace), as far as this identity may see that."""
    return sorted(place for place, one in _other_hubs(hub, namespace).items() if annotations_of(one).get(CA_NAMESPACE_ANNOTATION) == ca_namespace)


def second_hub(hub: Cluster, namespace: str, federation: str) -> str:
    """A warning for a hub that is not deployed yet, where its federation has another one in this cluster; empty if none can be seen."""
    places = sorted(place for place, one in _other_hubs(hub, namespace).items() if belongs(one, federation))
    if not places:
        return ""
    return (
        f"the federation {federation} already has a hub in namespace {', '.join(places)} of this cluster. A hub cannot be moved: this would create "
        f"another one in namespace {namespace}, without its runs and keys, and the sites would stay with the first. If flower_namespace was changed by "
        "mistake, change it back; for a second federation, set flower_federation to another name"
    )


def _other_hubs(hub: Cluster, namespace: str) -> dict[str, Object]:
    """Namespace -> what a hub there records, as far as this identity may see that."""
    if not all(hub.access_review([{"verb": "list", "resource": "configmaps"}])):
        return {}
    found = hub.list("v1", "ConfigMap", labels=f"{MANAGED_BY}={MANAGER},app.kubernetes.io/component=clients")
    return {one["metadata"]["namespace"]: one for one in found if one["metadata"]["namespace"] != namespace}


def fault(hub: Cluster, namespace: str, ca_namespace: str, federation: str) -> str:
    """Why a hub cannot store its CA keys in this namespace: a sentence; empty if it may, or has them there already."""
    if noted_ca_namespace(hub, namespace) == ca_namespace:
        return ""
    users, why = others(hub, namespace, ca_namespace), ""
    for name in CA_SECRETS:
        try:
            there = hub.get("v1", "Secret", name, ca_namespace)
        except Forbidden:
            return ""
        if there is not None and not belongs(there, federation):
            why = f"Secret {name} in it {holder(there)}"
            break
    if not why and users:
        why = f"it contains the CA keys of the hub in namespace {', '.join(users)}"
    if not why:
        return ""
    return (
        f"flower_ca_namespace: {ca_namespace} cannot contain the CA keys of the federation {federation}: {why}. Two federations need "
        f"two such namespaces: set flower_ca_namespace to another name, for example {default_ca_namespace(namespace)}."
    )


def needed(cluster: Cluster) -> bool:
    """Whether namespaces have to be requested as projects: this identity may not create one."""
    may_create, may_request = cluster.access_review(
        [
            {"verb": "create", "resource": "namespaces"},
            {"verb": "create", "group": PROJECTS, "resource": "projectrequests"},
        ]
    )
    return may_request and not may_create


def missing(cluster: Cluster, names: Sequence[str], federation: str) -> list[str]:
    """The namespaces that are to be requested.

    Raises:
        ClusterError: one of them exists, and is not of this federation.
    """
    live = {name: readable(cluster, "v1", "Namespace", name) for name in names}
    faults = [
        f"namespace {name} exists already and {proof.holder(one)}. Set flower_namespace (or flower_ca_namespace) to another name, or "
        "flower_create_namespace to false to deploy into it as it is."
        for name, one in live.items()
        if one is not None and not proof.belongs(one, federation)
    ]
    if faults:
        raise ClusterError(f"{cluster.name}: {' '.join(faults)}")
    return [name for name, one in live.items() if one is None]


def request_project(cluster: Cluster, name: str, federation: str, seconds: float) -> bool:
    """Request a project, and wait until this identity may work in it. Returns whether this request created it.

    Raises:
        ClusterError: it is refused, belongs to someone else, has no mark, or is not usable in time.
    """
    created = True
    try:
        request = {"apiVersion": PROJECT_API, "kind": "ProjectRequest", "metadata": {"name": name}, "description": proof.project_note(federation)}
        cluster.request("POST", f"/apis/{PROJECT_API}/projectrequests", body=request)
    except Conflict as error:
        # Another host of the same cluster, or another run, may have requested it a moment ago.
        if not Waiter(cluster, min(seconds, _TAKEN_SECONDS)).until(lambda: readable(cluster, "v1", "Namespace", name) is not None):
            raise ClusterError(
                f"{cluster.name}: there is a project {name}, and this identity may not see it: {error.text}. Set flower_namespace (or "
                "flower_ca_namespace) to another name."
            ) from error
        missing(cluster, [name], federation)
        created = False
    last = ""

    def usable() -> bool:
        nonlocal last
        live = readable(cluster, "v1", "Namespace", name)
        if live is None:
            last = "it cannot be read yet"
            return False
        if created and proof.project_of(live) != federation:
            raise ClusterError(
                f"{cluster.name}: project {name} was created without the description that was requested, so nothing proves for whom: the "
                "cluster's template for projects leaves it out. Set flower_create_namespace to false to deploy into it as it is; it is "
                "then never deleted by this collection."
            )
        last = "its requester may not create ConfigMaps in it yet"
        return all(cluster.access_review([{"verb": "create", "resource": "configmaps", "namespace": name}]))

    if not Waiter(cluster, seconds).until(usable):
        raise ClusterError(f"{cluster.name}: project {name} was requested, and is not usable after {seconds:g} s: {last}.")
    return created


def live(cluster: Cluster, name: str) -> Object | None:
    """The Namespace; where there are projects, one that this identity may not see counts as absent: the answer is the same."""
    try:
        return cluster.get("v1", "Namespace", name)
    except Forbidden:
        if has_projects(cluster):
            return None
        raise
