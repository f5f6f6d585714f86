# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Listener of a site, or the Connector of the hub."""

from __future__ import annotations

from typing import Any

from ..apply.readiness import State
from ..base.problems import require
from ..checks.skupper_rules import listener_problems
from ..kube.client import Cluster
from ..manifests import skupper
from ..skupper import cluster_state, site_plan, state
from ..skupper.ownership import is_ours, split
from ..spec.network_spec import ListenerSpec
from .skupper_action import SkupperAction

_SET = skupper.applyset(skupper.LISTENER)
LISTENER, CONNECTOR = "listener", "connector"


class SkupperListener(SkupperAction):
    """The part of M(federated.flower.skupper) that manages the Listener or Connector."""

    def manage_listener(self, params: dict[str, Any]) -> dict[str, Any]:
        """Read, decide, create or remove, wait."""
        require(listener_problems(params["spec"]))
        spec, seconds = ListenerSpec.parse(params["spec"]), params["wait_timeout"]
        kind = "Listener" if params["side"] == LISTENER else "Connector"
        with self.reach() as cluster:
            if params["state"] == "absent":
                return self._remove_listener(cluster, spec, kind, seconds)
            self.refuse_other_end(cluster, spec.namespace, hub=kind == "Connector")
            found = cluster_state.listed(cluster, kind, spec.namespace)
            if kind == "Connector":
                plan = site_plan.decide_connector(spec, found)
                wanted = [*skupper.skupper_connector_objects(spec), *([] if plan.adopted else skupper.connector_objects(spec))]
            else:
                plan = site_plan.decide_listener(spec, found, self._service(cluster, spec))
                wanted = [*skupper.skupper_listener_objects(spec), *([] if plan.adopted else skupper.listener_objects(spec))]
            self.refuse(plan.fault)
            self.warn(*plan.warnings)
            # In check mode an earlier task has not created it.
            around = self.make_namespace(cluster, spec, 0) if self.check else []
            self.apply(cluster, [*around, *wanted], applyset=_SET, applyset_namespace=spec.namespace)
            self.done["objects"] = [one for one in self.done["objects"] if one["kind"] != "Namespace"]
            name = plan.adopted["metadata"]["name"] if plan.adopted else skupper.FLEET

            def read_state() -> State:
                listed = cluster_state.listed(cluster, kind, spec.namespace)
                live = next((one for one in listed if one["metadata"]["name"] == name and is_ours(one) is (plan.adopted is None)), None)
                if live is None:
                    return State(False, "it is not there")
                return state.connector(live) if kind == "Connector" else state.listener(live, self._service(cluster, spec))

            waits = params["wait"] and not self.check
            ready = self.wait_for(f"{kind} {spec.namespace}/{name} on {cluster.name} is not ready", seconds, read_state) if waits else read_state()
        where = skupper.address(spec.host, spec.port)
        word = f"is ready{f' at {where}' if kind == 'Listener' else ''}" if ready.ready else "is not ready yet"
        return self.finished(f"{kind} {spec.namespace}/{name} {word}", address=where, ready=ready.ready, adopted=plan.adopted is not None)

    @staticmethod
    def _service(cluster: Cluster, spec: ListenerSpec) -> dict[str, Any] | None:
        return cluster.get("v1", "Service", spec.host, spec.namespace)

    def _remove_listener(self, cluster: Cluster, spec: ListenerSpec, kind: str, seconds: float) -> dict[str, Any]:
        namespace = spec.namespace
        if cluster.get("v1", "Namespace", namespace) is None:
            return self.finished(f"there is no namespace {namespace}, so no {kind} exists")
        self.refuse_other_end(cluster, namespace, hub=kind == "Connector", removing=_SET)
        theirs = split(cluster_state.listed(cluster, kind, namespace))[1]
        self.apply(cluster, [], state="absent", applyset=_SET, applyset_namespace=namespace, wait=True, wait_timeout=seconds)
        kept = f"; {', '.join(map(state.named, theirs))}, created by someone else, stays" if theirs else ""
        return self.finished(f"{self.deleted()} in {namespace}{kept}")
