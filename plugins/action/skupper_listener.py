# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.skupper_listener): the Listener of a site, or the Connector of the hub."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_action import SkupperAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.skupper_rules import listener_problems
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import cluster_state, site_plan, state
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.ownership import split
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.state import State
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import ListenerSpec

_SET = skupper.applyset(skupper.LISTENER)
LISTENER, CONNECTOR = "listener", "connector"


class ActionModule(SkupperAction):
    """See the module's documentation."""

    ROLE = "skupper_listener"
    ARGS = {
        "spec": {"type": "dict", "required": True},
        "side": {"type": "str", "choices": [LISTENER, CONNECTOR], "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read, decide, create or remove, wait."""
        self.begin()
        require(listener_problems(params["spec"]))
        spec = ListenerSpec.parse(params["spec"])
        kind = "Listener" if params["side"] == LISTENER else "Connector"
        with self.reach() as cluster:
            if params["state"] == "absent":
                return self._absent(cluster, spec, kind, params["wait_timeout"])
            self.refuse_other_end(cluster, spec.namespace, hub=kind == "Connector")
            plan = self._plan(cluster, spec, kind)
            if plan.fault:
                raise ClusterError(f"{plan.fault}.")
            self.warn(*plan.warnings)
            self._make(cluster, spec, kind, plan)
            found = self._look(cluster, spec, kind, plan)
            if params["wait"] and not self.check:
                seconds = params["wait_timeout"]
                found = self.wait(seconds, lambda: self._look(cluster, spec, kind, plan))
                if not found.ready:
                    when = "" if found.hopeless else f" after {seconds:g} s"
                    raise ClusterError(
                        f"{kind} {spec.namespace}/{self._name(plan)} on {cluster.name} is not ready{when}: {found.why}."
                    )
        where = skupper.address(spec.host, spec.port)
        word = f"is ready at {where}" if kind == "Listener" else "is ready"
        return self.finished(
            f"{kind} {spec.namespace}/{self._name(plan)} {word if found.ready else 'is not ready yet'}",
            address=where,
            ready=found.ready,
            adopted=plan.adopted is not None,
        )

    @staticmethod
    def _name(plan: site_plan.ListenerPlan) -> str:
        return plan.adopted["metadata"]["name"] if plan.adopted else skupper.FLEET

    def _plan(self, cluster: Cluster, spec: ListenerSpec, kind: str) -> site_plan.ListenerPlan:
        found = cluster_state.listed(cluster, kind, spec.namespace)
        if kind == "Connector":
            return site_plan.decide_connector(spec, found)
        return site_plan.decide_listener(spec, found, cluster.get("v1", "Service", spec.host, spec.namespace))

    def _make(self, cluster: Cluster, spec: ListenerSpec, kind: str, plan: site_plan.ListenerPlan) -> None:
        if kind == "Connector":
            rendered = skupper.skupper_connector_objects(spec)
            rendered += skupper.connector_objects(spec) if plan.adopted is None else []
        else:
            rendered = skupper.skupper_listener_objects(spec)
            rendered += skupper.listener_objects(spec) if plan.adopted is None else []
        # In check mode an earlier task has not created it.
        around = self.make_namespace(cluster, spec, 0) if self.check else []
        self.apply(cluster, [*around, *rendered], applyset=_SET, applyset_namespace=spec.namespace)
        self.done["objects"] = [one for one in self.done["objects"] if one["kind"] != "Namespace"]

    def _look(self, cluster: Cluster, spec: ListenerSpec, kind: str, plan: site_plan.ListenerPlan) -> State:
        live = site_plan.chosen(plan, cluster_state.listed(cluster, kind, spec.namespace))
        if live is None:
            return State(False, "it is not there")
        if kind == "Connector":
            return state.connector(live)
        return state.listener(live, cluster.get("v1", "Service", spec.host, spec.namespace))

    def _absent(self, cluster: Cluster, spec: ListenerSpec, kind: str, seconds: float) -> dict[str, Any]:
        namespace = spec.namespace
        if cluster.get("v1", "Namespace", namespace) is None:
            return self.finished(f"there is no namespace {namespace}, so no {kind} exists")
        self.refuse_other_end(cluster, namespace, hub=kind == "Connector", removing=_SET)
        _ours, theirs = split(cluster_state.listed(cluster, kind, namespace))
        self.apply(
            cluster, [], state="absent", applyset=_SET, applyset_namespace=namespace, wait=True, wait_timeout=seconds
        )
        kept = f"; {', '.join(map(state.named, theirs))}, created by someone else, stays" if theirs else ""
        gone = sum(one["change"] == "deleted" for one in self.done["objects"])
        return self.finished(f"{gone} objects {'to delete' if self.check else 'deleted'} in {namespace}{kept}")
