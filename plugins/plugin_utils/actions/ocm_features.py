# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Enable features of a hub of Open Cluster Management."""

from __future__ import annotations

from typing import Any

from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..kube.api_errors import Conflict, NotServed
from ..kube.client import Cluster
from ..ocm import api, checks, feature_gates
from .cluster_action import ClusterAction

# Another writer of the same list is the operator or a person: retry, with a limit.
_ATTEMPTS = 5


class Features:
    """Features of a hub of Open Cluster Management; those that others enabled stay.

    Args:
        run: the action.
        hub: a connection.
    """

    def __init__(self, run: ClusterAction, hub: Cluster) -> None:
        self._run, self._hub = run, hub

    def enable(self, features: list[str], seconds: float) -> str:
        """Write what is missing, and wait until the operator has applied it; in check mode only say so.

        Args:
            features: keys of C(feature_gates.PARTS).
            seconds: how long the operator may take.

        Returns:
            The features that were missing, with commas; empty where all are enabled, or the hub has no ClusterManager, whose administrators do it.

        Raises:
            ClusterError: the operator has not applied them in time.
        """
        manager = self._manager(self._hub)
        missing = feature_gates.missing(manager, features) if manager else []
        done = ", ".join(missing)
        if manager and missing and not self._run.check:
            generation = self._write(self._hub, features)
            self._run.note(words=[f"enabled {done} in ClusterManager {manager['metadata']['name']}"])
            self._wait(self._hub, generation, seconds)
        return done

    @staticmethod
    def _manager(hub: Cluster) -> dict[str, Any] | None:
        try:
            return next(iter(hub.list(api.OPERATOR, "ClusterManager")), None)
        except NotServed:
            return None

    def _write(self, hub: Cluster, features: list[str]) -> int:
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
                    f"{self._run.inventory_host}: the operator of Open Cluster Management on {hub.name} has not applied the features after "
                    f"{seconds:g} s: {why}. They stay enabled; run again when it has."
                )
