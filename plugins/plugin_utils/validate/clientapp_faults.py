# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a site's ClientApps: where they run, and how they are delivered (see manifests/clientapp.py)."""

from __future__ import annotations

from collections.abc import Mapping

from ..base.choices import OCM, OCM_PACE, PACES
from ..base.names import CLIENTAPPS, WORKLOAD
from ..base.object_names import REPLICA_SET_DIGITS, REPLICA_SET_PREFIX
from ..base.values import boolean, text
from ..manifests import clientapp
from ..spec.pool_spec import DAEMON_SET, pool_of
from .faults import Faults, Spec
from .ocm_faults import predicate_faults, rollout_faults

MAX_LABEL = 63


def clientapp_faults(spec: Spec, faults: Faults) -> None:
    """Rules for ClientApps in their own pods."""
    where = spec.get("clientapp") or CLIENTAPPS[0]
    if not faults.choice("clientapp", where, CLIENTAPPS) or where != WORKLOAD:
        return
    if boolean(spec.get("insecure")):
        faults.add("clientapp", where, "needs TLS between ClientApp and SuperNode: set flower_insecure to false")
    elif not boolean(spec.get("sidecar", True)):
        faults.add("clientapp", where, "needs the sidecar, to which ClientApps connect: set supernode_sidecar to true")
    for number, pool in enumerate(spec.get("pools") or []):
        if isinstance(pool, Mapping):
            _pool_faults(spec, pool, faults, f"pools[{number}]")
    faults.number("clientapp_wait", spec.get("clientapp_wait"), 0)
    if text(spec.get("delivery")) == OCM:
        _delivery_faults(spec, faults)


def _pool_faults(spec: Spec, pool: Mapping[str, object], faults: Faults, at: str) -> None:
    if text(pool.get("mode")) == DAEMON_SET:
        faults.add(
            f"{at}.mode",
            DAEMON_SET,
            "does not go together with supernode_clientapp: workload: the node of a SuperNode is not known in advance. "
            "Use a StatefulSet, or set supernode_clientapp to pod",
        )
        return
    isolation = pool.get("isolation") or spec.get("isolation")
    if isolation != "process":
        at = f"{at}.isolation" if pool.get("isolation") else "isolation"
        faults.add(
            at,
            isolation,
            "does not go together with supernode_clientapp: workload: ClientApps run in the SuperNode then. Set it to process",
        )
    try:
        last = max(pool_of({}, {"replicas": pool.get("replicas")}).replicas - 1, 0)
    except (TypeError, ValueError):
        return  # reported elsewhere
    name = clientapp.listener_service(text(pool.get("name")), last)
    if len(name) > MAX_LABEL:
        faults.add(
            f"{at}.name",
            pool.get("name"),
            f"is too long: its last SuperNode's Service would have the name {name}, and {MAX_LABEL} characters are the limit",
        )


def _delivery_faults(spec: Spec, faults: Faults) -> None:
    name = f"{spec.get('hub_namespace')}.{REPLICA_SET_PREFIX}{'0' * REPLICA_SET_DIGITS}"
    if len(name) > MAX_LABEL:
        faults.add(
            "hub_namespace",
            spec.get("hub_namespace"),
            f"is too long: Open Cluster Management labels ManifestWorks with it and the name of the ManifestWorkReplicaSet ({name})",
        )
    for number, one in enumerate(spec.get("clientapp_predicates") or []):
        predicate_faults(f"clientapp_predicates[{number}]", one, faults)
    if not faults.choice("clientapp_pace", spec.get("clientapp_pace"), PACES):
        return
    if spec["clientapp_pace"] == OCM_PACE:
        rollout_faults("clientapp_rollout", spec.get("clientapp_rollout"), faults)
    elif spec.get("clientapp_rollout"):
        faults.add(
            "clientapp_rollout",
            spec["clientapp_rollout"],
            "has no meaning while the play paces: set supernode_clientapp_pace to ocm, or use flower_serial",
        )
