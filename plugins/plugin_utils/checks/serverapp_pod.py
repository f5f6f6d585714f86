# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the pod of ServerApps can be replaced now, for example by one with another image: that fails active runs at once.

With subprocess isolation it is the SuperLink's. Others go on: a run outlives a restart of the SuperLink and of SuperNodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from ..apply.compare import differing_parts
from ..base.errors import ClusterError
from ..base.object_names import OUTPUTS_POD_ANNOTATION, SERVERAPP
from ..base.problems import Problem, warning
from ..flower import runs
from ..flower.cli import FlowerCLI
from ..hub import authority
from ..kube.api_errors import ApiError
from ..kube.client import FIELD_MANAGER, Cluster
from ..manifests import superlink
from ..marks import proof
from ..rotation import conditions
from ..spec.hub_spec import HubSpec
from . import hub_volumes, rehearsal

_API = "apps/v1"
_DEPLOYMENT, _STATEFUL_SET = "Deployment", "StatefulSet"


@dataclass(frozen=True)
class Change:
    """A change that replaces the pod.

    Attributes:
        what: the change.
        instead: how to do without it for now.
    """

    what: str
    instead: str


def check(cluster: Cluster, spec: HubSpec, *, is_check: bool = False) -> Iterator[Problem]:
    """Whether the pod would be replaced while runs are active. A SuperLink that is down must not prevent its repair.

    Args:
        cluster: a connection to the hub.
        spec: the hub.
        is_check: nothing is going to be changed now, so it is said and not refused.
    """
    change = _change(cluster, spec)
    if change is None:
        return
    try:
        listed = runs.read_all(FlowerCLI(cluster, spec.namespace))
    except ClusterError as error:
        yield warning(f"{change.what}, and whether runs are active is not known: {error.message}")
        return
    if words := fault(change, listed):
        yield warning(f"refused while runs are active: {words}") if is_check else Problem(f"{cluster.name}: {words}")


def _change(cluster: Cluster, spec: HubSpec) -> Change | None:
    hub = cluster.get(_API, _STATEFUL_SET, superlink.NAME, spec.namespace)
    if _stays(hub, spec) and (before := isolation(hub)) not in ("", spec.isolation):
        return isolation_change(before, spec.isolation)
    kind, name = replaced(spec)
    if is_switched(spec, cluster.get(_API, kind, name, spec.namespace)):
        return outputs_change(spec)
    # What is found later is as it is.
    found = replace(spec.complete(), gateway_secret=authority.mounted_secret(hub), made_storage_size=hub_volumes.made_size(hub))
    (wanted,) = [
        one
        for one in superlink.objects(found)
        if (one["apiVersion"], one["metadata"]["name"]) == (_API, name)
    ]
    live = cluster.get(_API, wanted["kind"], name, spec.namespace)
    if _stays(live, spec) and (parts := _changed_parts(cluster, wanted, live)):
        return template_change(spec, parts)
    return None


def _changed_parts(cluster: Cluster, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """Fields of the pod that a new one would have, as the API server says; none where it refuses the object, which C(rehearsal) reports."""
    known = rehearsal.with_unknown_of(wanted, live)
    if "spec.template" not in differing_parts(known, live, FIELD_MANAGER):
        return []
    try:
        then = cluster.apply(known, dry_run=True)["spec"]["template"]
    except ApiError:
        return []
    now = live["spec"]["template"]
    if then == now:
        return []
    return differing_fields(then["spec"], now["spec"]) or ["metadata"]


def differing_fields(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of the fields of two pods that differ, those of containers included: C(image), C(volumes)."""
    found = {key for key in {*then, *now} - {"containers", "initContainers"} if then.get(key) != now.get(key)}
    for kind in ("initContainers", "containers"):
        before = {one["name"]: one for one in now.get(kind) or []}
        after = {one["name"]: one for one in then.get(kind) or []}
        if list(before) != list(after):
            found.add(kind)
        for name in {*before} & {*after}:
            one, other = before[name], after[name]
            found |= {key for key in {*one, *other} if one.get(key) != other.get(key)}
    return sorted(found)


def replaced(spec: HubSpec) -> tuple[str, str]:
    """Kind and name of the workload that goes with a switch of outputs: its pod has the ServerApps.

    With process isolation the ServerApp's workload is of another kind with outputs than without. With subprocess isolation the SuperLink's
    gets another pod.
    """
    if spec.is_process:
        return (_DEPLOYMENT if spec.outputs_enabled else _STATEFUL_SET), SERVERAPP
    return _STATEFUL_SET, superlink.NAME


def _stays(live: Mapping[str, Any] | None, spec: HubSpec) -> TypeGuard[Mapping[str, Any]]:
    return live is not None and not live["metadata"].get("deletionTimestamp") and proof.belongs(live, spec.federation)


def is_switched(spec: HubSpec, live: Mapping[str, Any] | None) -> bool:
    """Whether the live workload that C(replaced) named is going to lose its pod. One of someone else stays, one that is being deleted goes."""
    if not _stays(live, spec):
        return False
    if spec.is_process:
        return True
    notes = proof.annotations_of(live["spec"]["template"])
    return (OUTPUTS_POD_ANNOTATION in notes) != spec.outputs_enabled


def fault(change: Change, listed: Sequence[Mapping[str, Any]]) -> str:
    """Why the pod cannot be replaced now, with the remedies; empty if no run is active.

    Args:
        change: what replaces it.
        listed: runs, as Flower lists them.
    """
    active = conditions.active(listed)
    if not active:
        return ""
    return (
        f"{change.what}, which would fail {conditions.describe(active)}. Nothing was changed. Wait until no run is active "
        f"(federated.flower.runs lists them), or {change.instead}"
    )


def isolation(superlink_workload: Mapping[str, Any]) -> str:
    """That of a live SuperLink; empty where its arguments do not say."""
    containers = superlink_workload["spec"]["template"]["spec"]["containers"]
    args = [text for one in containers if one["name"] == superlink.NAME for text in one.get("args") or []]
    return next((value for option, value in itertools.pairwise(args) if option == "--isolation"), "")


def isolation_change(before: str, after: str) -> Change:
    """ServerApps are going to run in another pod."""
    return Change(
        f"superlink_isolation: ServerApps run with {before}, and the pod that they are in goes with {after}",
        f"leave superlink_isolation: {before} for now. -e flower_serverapp_force=true fails them",
    )


def template_change(spec: HubSpec, parts: Sequence[str]) -> Change:
    """Other fields of the pod."""
    whose, own = " (the SuperLink's)", "superlink_*"
    if spec.is_process:
        whose, own = "", "superlink_serverapp_*, superlink_tracking, superlink_image, flower_app_image"
    return Change(
        f"the pod of ServerApps{whose} is replaced by one with another {', '.join(parts)} (variables of the hub: {own}, flower_version)",
        "leave these as they are for now. federated.flower.upgrade waits for runs; -e flower_serverapp_force=true fails them",
    )


def outputs_change(spec: HubSpec) -> Change:
    """The switch of outputs."""
    state, now = ("on", "false") if spec.outputs_enabled else ("off", "true")
    return Change(
        f"superlink_outputs_enabled: outputs of runs are switched {state}, and the pod of their ServerApps is replaced",
        f"leave outputs as they are for now: superlink_outputs_enabled: {now}",
    )
