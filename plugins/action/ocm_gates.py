# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_gates): enable features of a hub of Open Cluster Management; the others stay."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.wait import Clock
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api, checks, feature_gates

# Another writer of the same list is the operator or a person: retry, with a limit.
_ATTEMPTS = 5


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "features": {"type": "list", "elements": "str", "choices": sorted(feature_gates.PARTS), "required": True},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read, write what is missing, and wait until the operator has taken it over."""
        with self.connect() as hub:
            manager = self._manager(hub)
            if manager is None:
                return {
                    "changed": False,
                    "msg": f"{hub.name} has no ClusterManager: the administrators of the hub must enable features",
                }
            missing = feature_gates.missing(manager, params["features"])
            done = ", ".join(missing)
            if missing and not self.check:
                generation = self._enable(hub, params["features"])
                self.note(words=[f"enabled {done} in ClusterManager {manager['metadata']['name']}"])
                self._wait(hub, generation, params["wait_timeout"])
        return {
            "changed": bool(missing),
            "msg": f"{done} enabled on {hub.name}" if missing else "all of them are enabled",
        }

    @staticmethod
    def _manager(hub: Cluster) -> dict[str, Any] | None:
        try:
            return next(iter(hub.list(api.OPERATOR, "ClusterManager")), None)
        except NotServed:
            return None

    def _enable(self, hub: Cluster, features: list[str]) -> int:
        """Write the lists, each complete, if they have not changed since they were read; returns the generation that has them."""
        for attempt in range(1, _ATTEMPTS + 1):
            manager = self._manager(hub) or {}
            wanted: dict[str, Any] = {}
            for feature in feature_gates.missing(manager, features):
                part = feature_gates.PARTS[feature]
                wanted[part] = {
                    "featureGates": checks.with_gate({"spec": {**manager["spec"], **wanted}}, part, feature)
                }
            meta = manager["metadata"]
            body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": wanted}
            try:
                written = hub.patch(api.OPERATOR, "ClusterManager", meta["name"], None, body)
                return int(written["metadata"]["generation"])
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("not reached")

    def _wait(self, hub: Cluster, generation: int, seconds: float) -> None:
        clock = Clock(seconds)
        while True:
            manager = self._manager(hub) or {}
            done, why = feature_gates.taken_over(manager, generation)
            if done:
                return
            if not clock.tick():
                raise ClusterError(
                    f"{self.inventory_host}: the operator of Open Cluster Management on {hub.name} has not applied the features after "
                    f"{seconds:g} s: {why}. They stay enabled; run again when it has."
                )
