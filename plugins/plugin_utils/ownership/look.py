# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look, before anything is changed, whether what a deployment is going to write belongs to someone else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..apply import applyset
from ..apply.order import id_of
from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..manifests import namespace as namespaces
from ..marks import disowned, proof, record
from ..spec.deployed_spec import Spec
from ..spec.site_spec import SiteSpec
from . import ca_namespace as ca_namespaces
from . import duplicate_targets, reserved

Object = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What C(look) found out.

    Attributes:
        absent: namespaces to create.
        projects: namespaces that were requested as projects of OpenShift, whose labels are not for those who requested them.
        places: what identifies cluster and namespace of the deployment, each alone.
    """

    absent: list[str]
    projects: list[str]
    places: list[str]


def look(
    cluster: Cluster,
    part: str,
    spec: Spec,
    drafted: Callable[[], Iterable[Object]],
    ca_namespace: str = "",
    *,
    owner: Mapping[str, str] | None = None,
    claim: bool = False,
) -> Found:
    """Check the namespaces of a part and, if nothing of it is deployed yet, all names that it will use.

    Args:
        cluster: a connection.
        part: what is going to be deployed, C(superlink) or C(supernode).
        spec: its specification.
        drafted: renders all its objects, with stand-ins for what is found later.
        ca_namespace: namespace of the CA keys, for the superlink.
        owner: whose deployment it is, see C(record.notes).
        claim: whether the deployment of another owner is taken over.

    Raises:
        ClusterError: all that belongs to someone else, and the remedy.
    """
    home = spec.namespace
    made = namespaces.objects(spec)
    # Where others create namespaces, the right to read them may be missing.
    asked = list(dict.fromkeys(filter(None, (home, ca_namespace)))) if made else []
    live = {name: _get(cluster, "Namespace", name) for name in asked}
    faults = [_named(item, live[home]) for item in made]
    if not made:
        faults += [_missing(cluster, name) for name in filter(None, (home, "" if spec.insecure else ca_namespace))]
    parent = None
    if not made or live[home] is not None:
        parent = _get(cluster, "ConfigMap", applyset.parent_name(part), home)
        faults.append("" if claim else record.fault(parent, owner or {}))
        if parent is None and not any(faults):
            faults += _taken_names(cluster, part, spec, drafted())
    if ca_namespace and not any(faults):
        faults.append(ca_namespaces.fault(cluster, home, ca_namespace, spec.federation))
    if any(faults):
        raise ClusterError(f"{cluster.name}: " + " ".join(filter(None, faults)))
    return Found(
        [name for name, there in live.items() if there is None],
        [name for name, there in live.items() if proof.project_of(there)],
        duplicate_targets.places(cluster, home, [parent, live.get(home)]),
    )


def missing_namespace(cluster: Cluster, spec: Spec) -> list[Object]:
    """The Namespace, where the role creates it and it does not exist."""
    wanted = namespaces.objects(spec)
    if not wanted or cluster.get("v1", "Namespace", spec.namespace) is not None:
        return []
    return wanted


def _get(cluster: Cluster, kind: str, name: str, namespace: str | None = None) -> Object | None:
    """An object; one that cannot be read counts as absent."""
    try:
        return cluster.get("v1", kind, name, namespace)
    except Forbidden:
        return None


def _missing(cluster: Cluster, name: str) -> str:
    """Why a namespace that someone else creates cannot be used; empty when it is there, or cannot be read."""
    try:
        there = cluster.get("v1", "Namespace", name) is not None
    except Forbidden:
        there = True
    return "" if there else f"there is no namespace {name}, and flower_create_namespace is false: create it first."


def _named(desired: Mapping[str, Any], live: Mapping[str, Any] | None) -> str:
    if live is not None and live["metadata"].get("deletionTimestamp"):
        return ""  # it is waited for, and recreated
    why = disowned.fault(desired, live)
    return f"{id_of(desired)}: {why}" if why else ""


def _taken_names(cluster: Cluster, part: str, spec: Spec, drafted: Iterable[Object]) -> list[str]:
    """Faults of objects of someone else in the namespace with names that the deployment will use."""
    wanted: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    at_site = (
        isinstance(spec, SiteSpec) and spec.makes_keys
    )  # then only the site reads its Secrets, and its Job checks them
    for item in [*drafted, *reserved.objects(part, spec)]:
        if item["metadata"].get("namespace") and not (at_site and item["kind"] == "Secret"):
            wanted.setdefault((item["apiVersion"], item["kind"]), {})[item["metadata"]["name"]] = item
    faults = []
    for (api_version, kind), items in wanted.items():
        try:
            there = _read(cluster, api_version, kind, spec.namespace, items)
        except (Forbidden, NotServed):
            continue  # missing rights are reported later; what cannot be read is checked when it is written
        faults += [_named(items[one["metadata"]["name"]], one) for one in there if one["metadata"]["name"] in items]
    return faults


def _read(
    cluster: Cluster, api_version: str, kind: str, namespace: str, items: Mapping[str, Mapping[str, Any]]
) -> Iterable[Object]:
    if len(items) == 1:
        (name,) = items
        found = cluster.get(api_version, kind, name, namespace)
        return [found] if found else []
    return cluster.list(api_version, kind, namespace)
