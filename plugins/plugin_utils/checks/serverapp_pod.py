# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the pod of ServerApps can be replaced now, for example by one with another image: that fails active runs at once.

With subprocess isolation it is the SuperLink's. Others go on: a run outlives a restart of the SuperLink and of SuperNodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from ..apply.compare import differing_parts
from ..base.errors import ClusterError
from ..base.object_names import OUTPUTS_POD_ANNOTATION, SERVERAPP
from ..base.problems import Problem, warning
from ..flower import runs
from ..flower.cli import FlowerCLI
from ..kube.api_errors import ApiError
from ..kube.client import FIELD_MANAGER, Cluster
from ..manifests import superlink
from ..marks import proof
from ..rotation import authority, restart_conditions
from ..spec.hub_spec import HubSpec
from . import hub_volumes, rehearsal

_API = "apps/v1"


def check(cluster: Cluster, spec: HubSpec, *, is_check: bool = False) -> Iterator[Problem]:
    """Whether the pod would be replaced while runs are active. A SuperLink that is down must not prevent its repair.

    Args:
        cluster: a connection to the hub.
        spec: the hub.
        is_check: nothing is going to be changed now, so it is said and not refused.
    """
    change, instead = _change(cluster, spec)
    if not change:
        return
    try:
        active = restart_conditions.active_runs(runs.read_all(FlowerCLI(cluster, spec.namespace)))
    except ClusterError as error:
        yield warning(f"{change}, and active runs cannot be listed: {error.message}")
        return
    if active:
        words = (
            f"{change}, which would fail {restart_conditions.describe_runs(active)}. Nothing was changed. Wait until no run is active "
            f"(federated.flower.runs lists them), or {instead}"
        )
        yield warning(f"refused while runs are active: {words}") if is_check else Problem(f"{cluster.name}: {words}")


def _change(cluster: Cluster, spec: HubSpec) -> tuple[str, str]:
    """The change that replaces the pod, and how to do without it for now; empty if there is none. What is found later is as it is."""
    hub = cluster.get(_API, "StatefulSet", superlink.NAME, spec.namespace)
    before = _isolation(hub) if _stays(hub, spec) else ""
    if before not in ("", spec.isolation):
        return (
            f"superlink_isolation: ServerApps run with {before}, and the pod that they are in goes with {spec.isolation}",
            f"leave superlink_isolation: {before} for now. -e flower_serverapp_force=true fails them",
        )
    # A switch of outputs. With process isolation the ServerApp's workload is of another kind with outputs than without; the old one goes. With
    # subprocess isolation the SuperLink's gets another pod.
    name, kind = (SERVERAPP, "Deployment" if spec.outputs_enabled else "StatefulSet") if spec.is_process else (superlink.NAME, "StatefulSet")
    live = cluster.get(_API, kind, name, spec.namespace)
    if _stays(live, spec) and (
        spec.is_process or (OUTPUTS_POD_ANNOTATION in proof.annotations_of(live["spec"]["template"])) != spec.outputs_enabled
    ):
        state, now = ("on", "false") if spec.outputs_enabled else ("off", "true")
        return (
            f"superlink_outputs_enabled: outputs of runs are switched {state}, and the pod of their ServerApps is replaced",
            f"leave outputs as they are for now: superlink_outputs_enabled: {now}",
        )
    found = replace(spec.complete(), gateway_secret=authority.mounted_secret(hub), created_storage_size=hub_volumes.created_size(hub))
    (wanted,) = [one for one in superlink.objects(found) if (one["apiVersion"], one["metadata"]["name"]) == (_API, name)]
    live = cluster.get(_API, wanted["kind"], name, spec.namespace)
    if not _stays(live, spec) or not (parts := _changed_fields(cluster, wanted, live)):
        return "", ""
    whose, own = " (the SuperLink's)", "superlink_*"
    if spec.is_process:
        whose, own = "", "superlink_serverapp_*, superlink_tracking, superlink_outputs_s3, superlink_image, flower_app_image"
    return (
        f"the pod of ServerApps{whose} is replaced by one with another {', '.join(parts)} (variables of the hub: {own}, flower_version)",
        "leave these as they are for now. federated.flower.upgrade waits for runs; -e flower_serverapp_force=true fails them",
    )


def _stays(live: Mapping[str, Any] | None, spec: HubSpec) -> TypeGuard[Mapping[str, Any]]:
    """Whether a workload is there, ours, and not being deleted."""
    return live is not None and not live["metadata"].get("deletionTimestamp") and proof.belongs(live, spec.federation)


def _isolation(superlink_workload: Mapping[str, Any]) -> str:
    """That of a live SuperLink; empty where its arguments do not say."""
    containers = superlink_workload["spec"]["template"]["spec"]["containers"]
    args = [text for one in containers if one["name"] == superlink.NAME for text in one.get("args") or []]
    return next((value for option, value in itertools.pairwise(args) if option == "--isolation"), "")


def _changed_fields(cluster: Cluster, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """Fields that a new pod would have, and its containers, as the API server says; none where it refuses the object, which C(rehearsal) reports."""
    known = rehearsal.with_unknown_of(wanted, live)
    if "spec.template" not in differing_parts(known, live, FIELD_MANAGER):
        return []
    try:
        template = cluster.apply(known, dry_run=True)["spec"]["template"]
    except ApiError:
        return []
    if template == live["spec"]["template"]:
        return []
    then, now = template["spec"], live["spec"]["template"]["spec"]
    found = {key for key in {*then, *now} - {"containers", "initContainers"} if then.get(key) != now.get(key)}
    for kind in ("initContainers", "containers"):
        before, after = ({one["name"]: one for one in pod.get(kind) or []} for pod in (now, then))
        found |= {kind} if list(before) != list(after) else set()
        for one, other in ((before[name], after[name]) for name in before if name in after):
            found |= {key for key in {*one, *other} if one.get(key) != other.get(key)}
    return sorted(found) or ["metadata"]
