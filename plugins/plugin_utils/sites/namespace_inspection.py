# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out, before anything is changed, whether what a deployment will write belongs to someone else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..apply import applyset
from ..apply.order import id_of
from ..base import object_names as names
from ..base.errors import ClusterError
from ..base.labels import record_labels
from ..base.names import CLIENT_KEY, METRICS, PUBLIC_KEYS, keys_secret
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..manifests.common_objects import namespace_objects
from ..marks import owners, proof
from ..spec.deployed_spec import Spec
from ..spec.site_spec import SiteSpec
from ..state import lease_object as lease
from . import namespaces

#: Secrets and records of the hub, in its own namespace.
HUB = {
    "Secret": (
        names.INTERNAL_SECRET, names.RUNTIME_SECRET, names.SUPERLINK_SUPEREXEC_SECRET, names.GATEWAY_SECRET, names.GATEWAY_NEXT_SECRET,
        names.TRACKING_SECRET, METRICS,
    ),
    "ConfigMap": (
        names.CLIENTS_CONFIG, names.LEDGER_CONFIG, names.LEDGER_DATASETS_CONFIG, names.LEDGER_NODES_CONFIG, names.LEDGER_ACCEPTANCE_CONFIG,
        names.LEDGER_DEPLOYED_CONFIG, names.LEDGER_BACKUP_CONFIG, names.AUDIT_CONFIG, names.UPGRADE_CONFIG, names.STANDBY_CONFIG, names.RESTORE_CONFIG,
    ),
    lease.KIND: (lease.NAME,),
}  # fmt: skip
#: Secrets and ConfigMaps of a site, in addition to those of each pool and that of its HTTP proxy.
SITE = {"Secret": (names.SUPEREXEC_SECRET, names.LOCAL_TLS_SECRET, CLIENT_KEY), "ConfigMap": (PUBLIC_KEYS, names.KEY_JOB_OWNER)}

Object = dict[str, Any]


def reserved_objects(part: str, spec: Spec) -> list[dict[str, Any]]:
    """Placeholders for these objects: kind, name, namespace and labels, nothing more."""
    reserved = HUB if part == names.SUPERLINK else SITE
    listed: list[tuple[str, str]] = [(kind, name) for kind, found in reserved.items() for name in found]
    if isinstance(spec, SiteSpec):
        listed += [("Secret", keys_secret(pool.name)) for pool in spec.pools]
        if spec.has_proxy and spec.http_proxy_credentials:
            listed.append(("Secret", names.PROXY_SECRET))
    labels = record_labels(spec.federation, part, "record")
    return [
        {
            "apiVersion": lease.API if kind == lease.KIND else "v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": spec.namespace, "labels": labels},
        }
        for kind, name in listed
    ]


@dataclass(frozen=True)
class NamespaceFindings:
    """What C(inspect_namespace) found out.

    Attributes:
        absent: namespaces to create.
        projects: namespaces that were requested as projects of OpenShift, whose labels are not for those who requested them.
        places: what identifies cluster and namespace of the deployment, each alone.
    """

    absent: list[str]
    projects: list[str]
    places: list[str]


def inspect_namespace(
    cluster: Cluster,
    part: str,
    spec: Spec,
    drafted: Callable[[], Iterable[Object]],
    ca_namespace: str = "",
    *,
    owner: Mapping[str, str] | None = None,
    claim: bool = False,
) -> NamespaceFindings:
    """Check the namespaces of a part and, if nothing of it is deployed yet, all names that it will use.

    Args:
        part: what is going to be deployed, C(superlink) or C(supernode).
        drafted: renders all its objects, with stand-ins for what is found later.
        ca_namespace: namespace of the CA keys, for the superlink.
        owner: whose deployment it is, see C(owners.deployment_notes).
        claim: whether the deployment of another owner is taken over.

    Raises:
        ClusterError: all that belongs to someone else, and the remedy.
    """
    home = spec.namespace
    created = namespace_objects(spec)
    # Where others create namespaces, the right to read them may be missing.
    asked = list(dict.fromkeys(filter(None, (home, ca_namespace)))) if created else []
    live = {name: namespaces.readable(cluster, "v1", "Namespace", name) for name in asked}
    faults = [_named(item, live[home]) for item in created]
    if not created:
        for name in filter(None, (home, "" if spec.insecure else ca_namespace)):
            with contextlib.suppress(Forbidden):
                if cluster.get("v1", "Namespace", name) is None:
                    faults.append(f"there is no namespace {name}, and flower_create_namespace is false: create it first.")
    parent = None
    if not created or live[home] is not None:
        parent = namespaces.readable(cluster, "v1", "ConfigMap", applyset.parent_name(part), home)
        faults.append("" if claim else owners.other_deployment_error(parent, owner or {}))
        if parent is None and not any(faults):
            faults += _taken_names(cluster, part, spec, drafted())
    if ca_namespace and not any(faults):
        faults.append(namespaces.fault(cluster, home, ca_namespace, spec.federation))
    if any(faults):
        raise ClusterError(f"{cluster.name}: " + " ".join(filter(None, faults)))
    # What identifies a namespace, unique in all clusters: objects in it, or else the cluster's own Namespace and its name.
    places = [one["metadata"]["uid"] for one in (parent, live.get(home)) if one is not None]
    if not places:
        system = namespaces.readable(cluster, "v1", "Namespace", "kube-system")
        places = [f"{system['metadata']['uid'] if system else cluster.server}/{home}"]
    absent = [name for name, there in live.items() if there is None]
    return NamespaceFindings(absent, [name for name, there in live.items() if proof.project_of(there)], places)


def missing_namespace(cluster: Cluster, spec: Spec) -> list[Object]:
    """The Namespace, where the role creates it and it does not exist."""
    wanted = namespace_objects(spec)
    return wanted if wanted and cluster.get("v1", "Namespace", spec.namespace) is None else []


def _named(desired: Mapping[str, Any], live: Mapping[str, Any] | None) -> str:
    if live is not None and live["metadata"].get("deletionTimestamp"):
        return ""  # it is waited for, and recreated
    why = owners.foreign_object_error(desired, live)
    return f"{id_of(desired)}: {why}" if why else ""


def _taken_names(cluster: Cluster, part: str, spec: Spec, drafted: Iterable[Object]) -> list[str]:
    """Faults of objects of someone else in the namespace with names that the deployment will use."""
    wanted: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    at_site = isinstance(spec, SiteSpec) and spec.makes_keys  # then only the site reads its Secrets, and its Job checks them
    for item in [*drafted, *reserved_objects(part, spec)]:
        if item["metadata"].get("namespace") and not (at_site and item["kind"] == "Secret"):
            wanted.setdefault((item["apiVersion"], item["kind"]), {})[item["metadata"]["name"]] = item
    faults = []
    for (api_version, kind), items in wanted.items():
        try:
            if len(items) == 1:
                there = [one for name in items if (one := cluster.get(api_version, kind, name, spec.namespace))]
            else:
                there = cluster.list(api_version, kind, spec.namespace)
        except (Forbidden, NotServed):
            continue  # missing rights are reported later; what cannot be read is checked when it is written
        faults += [_named(items[one["metadata"]["name"]], one) for one in there if one["metadata"]["name"] in items]
    return faults
