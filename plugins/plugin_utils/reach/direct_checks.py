# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a site's cluster before anything is changed there."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import query, selector
from ..base.object_names import SUPERNODE
from ..base.problems import Problem, require, warning
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster, Objects
from ..manifests import key_job, supernode
from ..marks import parts, record
from ..ownership import look as look_at
from ..preflight import clocks, devices, pod_needs, rehearsal, site_agreement
from ..rights import ask, grants
from ..rights.need import DEPLOY
from ..rights.rules import missing, singles
from ..spec.site_spec import SiteSpec
from . import beside_hub, direct_datasets, direct_proxy
from .site import Run, Site

# Of how many nodes with GPUs the pods are read, one request each; what is used on others is not known then.
_GPU_NODES = 50


def look(run: Run, cluster: Cluster, site: Site, hub: Mapping[str, Any]) -> dict[str, Any]:
    """Reach the cluster, check rights, look for GPUs and at the clock.

    Args:
        run: the run.
        cluster: a connection.
        site: the site.
        hub: what M(federated.flower.superlink) returned for the hub; empty if it was not checked.

    Returns:
        C(msg), C(warnings), C(version), C(skew) and C(rehearsed).

    Raises:
        ClusterError: the cluster cannot be reached, a right is missing, or a clock is wrong.
    """
    spec = site.spec
    warnings = []
    if spec.insecure:
        warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
    warnings += require(site_agreement.config_types(spec.pools))
    version = cluster.request("GET", "/version")["gitVersion"]
    owner = record.notes(site.federation, site.name, hub.get("identity") or "")
    found = look_at.look(cluster, SUPERNODE, spec, lambda: supernode.objects(spec.complete()), owner=owner, claim=site.claim)
    away = found.absent
    if spec.namespace not in (*away, *found.projects):
        _check_shared_namespace(cluster, spec, hub.get("pod_security"))
    other = run.claim(site.name, [f"{SUPERNODE} {one}" for one in found.places])
    if other:
        raise ClusterError(
            f"this host and {other} are the same namespace {site.namespace} of the same cluster: they would overwrite each other. Deploy one "
            "of them in another place (supernode_namespace, flower_context, flower_kubeconfig), or take it out of the inventory."
        )
    wanted = replace(spec, keys_account=spec.makes_keys and _account_is_given(cluster, spec.namespace))
    needed = grants.controller_rights(SUPERNODE, wanted, "", works=[DEPLOY], absent=away, projects=found.projects)
    ask.require(cluster, needed)
    if spec.namespace not in away:
        _refuse_delivered(cluster, spec)
    if wanted.keys_account:
        _check_account(cluster, wanted)
    warnings += require(direct_datasets.check(cluster, wanted, away))
    warnings += direct_proxy.check(cluster, wanted, away)
    objects = supernode.objects(wanted.complete())
    require(rehearsal.too_old(version, objects), cluster.name)
    rehearsed = rehearsal.rehearse(cluster, objects, away, SUPERNODE)
    if rehearsed:
        warnings += require(pod_needs.check(cluster, wanted, objects, away, SUPERNODE))
    warnings += require(_devices(cluster, wanted, changes=rehearsed))
    warnings += require(_clock(cluster, wanted, hub))
    return {
        "msg": f"{cluster.name} runs Kubernetes {version}, the rights are enough",
        "warnings": warnings,
        "version": version,
        "skew": cluster.skew,
        "rehearsed": rehearsed,
    }


def _check_shared_namespace(cluster: Cluster, spec: SiteSpec, planned: str | None) -> None:
    """Whether the site's Pod Security level is that of the hub whose namespace it shares. Not known where that cannot be read."""
    if not site_agreement.wants_level(spec):
        return
    try:
        is_shared = cluster.get("v1", "ConfigMap", parts.HUB_RECORD, spec.namespace) is not None
    except Forbidden:
        return
    if is_shared:
        beside_hub.refuse_level(cluster, spec, planned)


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


def _account_is_given(cluster: Cluster, namespace: str) -> bool:
    """Whether the site's administrators created the account of the Job that creates keys. One that cannot be read counts as absent."""
    try:
        return cluster.get("v1", "ServiceAccount", key_job.ACCESS, namespace) is not None
    except Forbidden:
        return False


def _check_account(cluster: Cluster, spec: SiteSpec) -> None:
    """Whether that account may write the Secrets of all pools. Not known where its rights come from another Role."""
    namespace = spec.namespace
    role = cluster.get("rbac.authorization.k8s.io/v1", "Role", key_job.ACCESS, namespace)
    if role is None:
        return
    wanted = key_job.rules(key_job.secret_names(pool.name for pool in spec.pools))
    lacking = missing(singles(wanted, namespace), role.get("rules") or [])
    if lacking:
        raise ClusterError(
            f"the job that makes the keys on {cluster.name} may not: {'; '.join(map(str, lacking))}. Ask the cluster's "
            f"administrators to apply what the playbook federated.flower.rbac writes down: Role {key_job.ACCESS} in "
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


def _clock(cluster: Cluster, spec: SiteSpec, hub: Mapping[str, Any]) -> Iterator[Problem]:
    """Is the site's clock near enough to the hub's, and the gateway's certificate valid by it?"""
    now = datetime.datetime.now(datetime.timezone.utc)
    found = [
        *clocks.clocks(cluster.skew, hub.get("skew"), signed=not spec.insecure),
        *clocks.validity(hub.get("certificate") or {}, cluster.skew, now),
    ]
    for one in found:
        yield one._replace(message=f"{one.message}. Measured at the API server {cluster.server}") if one.refuses else one
