# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether outputs can be switched on or off, or tracking changed, now: that replaces the pod of ServerApps, which would fail active runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from ..base.errors import ClusterError
from ..flower import runs
from ..flower.cli import FlowerCLI
from ..kube.client import Cluster
from ..manifests import outputs, serverapp, superlink, tracking
from ..marks import proof
from ..rotation import conditions
from ..spec.hub_spec import HubSpec

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


TRACKING = Change(
    "superlink_tracking: address, credentials or CA of the tracking server are in the environment of ServerApps, and their pod is replaced",
    "leave superlink_tracking and superlink_tracking_credentials as they are for now",
)


def require(cluster: Cluster, spec: HubSpec) -> list[str]:
    """Refuse to switch outputs on or off, or to change tracking, while runs are active.

    Args:
        cluster: a connection to the hub.
        spec: the hub.

    Returns:
        A warning, if it is not known whether runs are active: a SuperLink that is down must not prevent its repair.

    Raises:
        ClusterError: runs are active, with their ids and the remedies.
    """
    change = _change(cluster, spec)
    if change is None:
        return []
    try:
        listed = runs.read_all(FlowerCLI(cluster, spec.namespace))
    except ClusterError as error:
        return [f"{change.what}, and whether runs are active is not known: {error.message}"]
    if words := fault(change, listed):
        raise ClusterError(f"{cluster.name}: {words}")
    return []


def _change(cluster: Cluster, spec: HubSpec) -> Change | None:
    kind, name = replaced(spec)
    if is_switched(spec, cluster.get(_API, kind, name, spec.namespace)):
        return outputs_change(spec)
    (wanted,) = [
        one
        for one in superlink.objects(spec.complete())
        if (one["apiVersion"], one["metadata"]["name"]) == (_API, name)
    ]
    is_changed = is_tracking_changed(spec, wanted, cluster.get(_API, wanted["kind"], name, spec.namespace))
    return TRACKING if is_changed else None


def replaced(spec: HubSpec) -> tuple[str, str]:
    """Kind and name of the workload that goes with a switch: its pod has the ServerApps.

    With process isolation the ServerApp's workload is of another kind with outputs than without. With subprocess isolation the SuperLink's
    gets another pod.
    """
    if spec.is_process:
        return (_DEPLOYMENT if spec.outputs_enabled else _STATEFUL_SET), serverapp.NAME
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
    return (outputs.PLACE in notes) != spec.outputs_enabled


def is_tracking_changed(spec: HubSpec, wanted: Mapping[str, Any], live: Mapping[str, Any] | None) -> bool:
    """Whether the live workload is going to lose its pod because the environment for the tracking server is another one."""
    return _stays(live, spec) and _tracking(wanted) != _tracking(live)


def _tracking(workload: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (container["name"], one["name"]): one.get("value") or one.get("valueFrom")
        for container in workload["spec"]["template"]["spec"]["containers"]
        for one in container.get("env") or []
        if one["name"].startswith(tracking.PREFIX)
    }


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


def outputs_change(spec: HubSpec) -> Change:
    """The switch of outputs."""
    state, now = ("on", "false") if spec.outputs_enabled else ("off", "true")
    return Change(
        f"superlink_outputs_enabled: outputs of runs are switched {state}, and the pod of their ServerApps is replaced",
        f"leave outputs as they are for now: superlink_outputs_enabled: {now}",
    )
