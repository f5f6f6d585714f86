# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a site's cluster, and whether its datasets can be mounted, before anything is changed there."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..apply.wait import Waiter
from ..base.errors import ClusterError
from ..base.labels import query, selector
from ..base.object_names import SUPERNODE
from ..base.problems import Problem, require, warning
from ..base.values import Object
from ..checks import dataset_checks, devices, pod_needs, rehearsal, site_agreement
from ..kube import cluster_platform
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster, Objects
from ..manifests import datasets, site_jobs, supernode
from ..marks import owners
from ..rights import ask, grants
from ..rights.need import DEPLOY, missing, singles
from ..spec.pods_spec import Dataset
from ..spec.site_spec import SiteSpec
from . import direct_connection, namespace_inspection, namespaces
from .site import PreflightResult, Run, Site

_CLAIM = "PersistentVolumeClaim"

# Of how many nodes with GPUs the pods are read, one request each; what is used on others is not known then.
_GPU_NODES = 50


def check_datasets(cluster: Cluster, spec: SiteSpec, absent: Collection[str] = ()) -> list[Problem]:
    """Check the datasets of a site; nothing is read where there are none. C(absent): namespaces that do not exist yet."""
    listed = dataset_checks.datasets_of(spec)
    if not listed:
        return []
    seen = _read(cluster, spec, listed)
    seen.is_namespace_missing = spec.namespace in absent
    return list(dataset_checks.check(spec, seen))


def _read(cluster: Cluster, spec: SiteSpec, listed: list[Dataset]) -> dataset_checks.Seen:
    seen = dataset_checks.Seen()

    def get(into: dict[str, Object | None], api_version: str, kind: str, name: str, namespace: str | None = None) -> None:
        """Read an object once. What may not be read stays unknown, and the checks say so."""
        if name and name not in into:
            with contextlib.suppress(Forbidden):
                into[name] = cluster.get(api_version, kind, name, namespace)

    storage = (cluster_platform.STORAGE_API, cluster_platform.STORAGE_CLASS)
    for one in listed:
        for kind, name in (("Secret", one.secret), ("ConfigMap", one.config_map)):
            found: dict[str, Object | None] = {}
            get(found, "v1", kind, name, spec.namespace)
            seen.files |= {(kind, key): item is not None for key, item in found.items()}
        get(seen.claims, "v1", _CLAIM, one.claim_name, spec.namespace)
        if one.volume is not None:
            get(seen.volumes, "v1", "PersistentVolume", datasets.volume_name(spec, one))
        if one.new_claim is not None:
            get(seen.classes, *storage, one.new_claim.storage_class)
    new = [one for one in listed if one.new_claim is not None and not one.new_claim.storage_class]
    if any(seen.claims.get(one.claim_name, one) is None for one in new):
        known = cluster_platform.storage_classes(cluster)
        seen.has_default = None if known is None else any(known.values())
    # Where the volume is matters for several pods only.
    several = any(dataset_checks.pods_of(spec, one.claim_name) > 1 for one in listed if one.claim_name)
    for name, claim in seen.claims.items():
        if claim is None:
            continue
        get(seen.classes, *storage, claim["spec"].get("storageClassName") or "")
        if several:
            get(seen.volumes, "v1", "PersistentVolume", claim["spec"].get("volumeName") or "")
        if (claim.get("status") or {}).get("phase") != "Bound":
            seen.events[name] = Waiter(cluster, 0).events([claim])
    if several:
        try:
            seen.nodes = cluster.list("v1", "Node")
        except Forbidden:
            seen.nodes = None
    return seen


def refuse_duplicate(run: Run, site: Site, places: Collection[str], hub: Mapping[str, Any]) -> None:
    """Refuse a site whose place is that of another host.

    Args:
        places: what identifies its namespace, unique in all clusters.
        hub: see C(check_cluster).

    Raises:
        ClusterError: it names the other host.
    """
    if other := run.claim(site.name, places):
        raise ClusterError(
            f"this host and {other} are the same namespace {site.namespace} of the same cluster: they would overwrite each other. Deploy one "
            "of them in another place (supernode_namespace, flower_context, flower_kubeconfig), or remove it from the inventory."
        )
    if site.access.connectivity == "skupper" and {*places} & {*hub.get("places", ())}:
        raise ClusterError(
            f"this host and {site.hub} are the same namespace {site.namespace} of the same cluster, and Skupper serves one Site for a namespace: the "
            "hosts would replace each other's Site. Set flower_connectivity to direct for this host, or give it another namespace (supernode_namespace)."
        )


def check_cluster(run: Run, cluster: Cluster, site: Site, hub: Mapping[str, Any]) -> PreflightResult:
    """Reach the cluster, check rights, look for GPUs and at the clock.

    Args:
        hub: what M(federated.flower.superlink) returned for the hub; empty if it was not checked.

    Raises:
        ClusterError: the cluster cannot be reached, a right is missing, or a clock is wrong.
    """
    spec = site.spec
    warnings = []
    if spec.insecure:
        warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
    warnings += require(site_agreement.config_types(spec.pools))
    version = cluster.request("GET", "/version")["gitVersion"]
    owner = owners.deployment_notes(site.federation, site.name, hub.get("identity") or "")
    found = namespace_inspection.inspect_namespace(cluster, SUPERNODE, spec, lambda: supernode.objects(spec.complete()), owner=owner, claim=site.claim)
    away = found.absent
    if spec.namespace not in (*away, *found.projects):
        # The site's Pod Security level is that of a hub whose namespace it shares. Not known where that cannot be read.
        record = ("v1", "ConfigMap", owners.HUB_RECORD, spec.namespace)
        if site_agreement.wants_level(spec) and namespaces.readable(cluster, *record) is not None:
            refuse_level(cluster, spec, hub.get("pod_security"))
    refuse_duplicate(run, site, found.places, hub)
    # Whether the site's administrators created the account of the job that creates keys.
    account = namespaces.readable(cluster, "v1", "ServiceAccount", site_jobs.ACCESS, spec.namespace) if spec.makes_keys else None
    wanted = replace(spec, keys_account=account is not None)
    needed = grants.controller_rights(SUPERNODE, wanted, "", works=[DEPLOY], absent=away, projects=found.projects)
    ask.require(cluster, needed)
    if spec.namespace not in away:
        _refuse_delivered(cluster, spec)
    if wanted.keys_account:
        _check_account(cluster, wanted)
    warnings += require(check_datasets(cluster, wanted, away))
    warnings += direct_connection.check(cluster, wanted, away)
    objects = supernode.objects(wanted.complete())
    require(rehearsal.too_old(version, objects), cluster.name)
    rehearsed = rehearsal.rehearse(cluster, objects, away, SUPERNODE)
    if rehearsed:
        warnings += require(pod_needs.check(cluster, wanted, objects, away, SUPERNODE))
    warnings += require(_devices(cluster, wanted, changes=rehearsed))
    # Is the site's clock near enough to the hub's, and the gateway's certificate valid by it?
    problems = [
        *site_agreement.clocks(cluster.skew, hub.get("skew"), signed=not spec.insecure),
        *site_agreement.validity(hub.get("certificate") or {}, cluster.skew, datetime.datetime.now(datetime.timezone.utc)),
    ]
    measured = f". Measured at the API server {cluster.server}"
    warnings += require(one._replace(message=one.message + measured) if one.refuses else one for one in problems)
    return PreflightResult(f"{cluster.name} runs Kubernetes {version}, the rights are sufficient", warnings, version, cluster.skew, rehearsed, objects)


def refuse_level(cluster: Cluster, spec: SiteSpec, planned: str | None) -> None:
    """Refuse a Pod Security level that a site in the hub's namespace sets and the hub does not. Not known where the Namespace cannot be read.

    Args:
        cluster: a connection to the hub's cluster.
        spec: the site, as its variables have it.
        planned: see C(site_agreement.shared_namespace).

    Raises:
        ClusterError: the site's level would have no effect.
    """
    if site_agreement.wants_level(spec) and (live := namespaces.readable(cluster, "v1", "Namespace", spec.namespace)):
        require(site_agreement.shared_namespace(spec, live, planned))


def _refuse_delivered(cluster: Cluster, spec: SiteSpec) -> None:
    """Refuse a site whose objects Open Cluster Management still delivers to the same namespace: they would go with its ManifestWork.

    Source: open-cluster-management-io/ocm, C(pkg/work): objects belong to the AppliedManifestWork HUB-WORK, and are deleted with it.
    """
    for one in cluster.list("apps/v1", "StatefulSet", spec.namespace, labels=query(selector(spec.federation, supernode.NAME))):
        for owner in one["metadata"].get("ownerReferences") or []:
            if owner["kind"] == "AppliedManifestWork" and f"-{spec.ocm_addon}-" in owner["name"]:
                raise ClusterError(
                    f"{cluster.name}: Open Cluster Management delivers StatefulSet {one['metadata']['name']} in namespace {spec.namespace}: it would "
                    "undo what is changed here, and delete it together with what it delivers. Remove the site there first: "
                    f"federated.flower.teardown --limit {spec.cluster} -e flower_delivery=ocm -e flower_teardown=true. Or deploy it into another "
                    "namespace (supernode_namespace)."
                )


def _check_account(cluster: Cluster, spec: SiteSpec) -> None:
    """Whether that account may write the Secrets of all pools. Not known where its rights come from another Role."""
    namespace = spec.namespace
    role = cluster.get("rbac.authorization.k8s.io/v1", "Role", site_jobs.ACCESS, namespace)
    if role is None:
        return
    wanted = site_jobs.rules(site_jobs.secret_names(pool.name for pool in spec.pools))
    lacking = missing(singles(wanted, namespace), role.get("rules") or [])
    if lacking:
        raise ClusterError(
            f"the job that creates the keys on {cluster.name} lacks these rights: {'; '.join(map(str, lacking))}. Ask the cluster's "
            f"administrators to apply the output of the playbook federated.flower.rbac: Role {site_jobs.ACCESS} in "
            f"namespace {namespace} is older than supernode_pools."
        )


def _devices(cluster: Cluster, spec: SiteSpec, *, changes: bool) -> Iterator[Problem]:
    """Pools that would wait for GPUs. Only a DaemonSet pool needs the right to read nodes, and none the right to read pods of others."""
    if not any(pool.gpu.count for pool in spec.pools):
        return
    try:
        nodes = cluster.list("v1", "Node")
    except Forbidden:
        yield warning("whether a node has the GPUs that pools request is unknown: nodes may not be listed here")
        return
    pods: Objects = []
    try:
        for name in devices.advertise(spec, nodes)[:_GPU_NODES] if changes else []:
            pods += cluster.list("v1", "Pod", fields=f"spec.nodeName={name}")
    except Forbidden:
        pods = []
    yield from devices.check(spec, nodes, pods)
