# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.skupper_site): the Site of a namespace, ours or one that is adopted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_action import Object, facts
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_check import CheckAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_controller import ControllerAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.skupper_rules import site_problems
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common_objects import BASELINE, ENFORCE
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import (
    cluster_state,
    site_plan,
    skupper_requirements,
    state,
)
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.ownership import is_ours, split
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.state import State
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import NetworkSiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.state.lease_object import API as LEASES

_SET = skupper.applyset(skupper.SITE)
ABSENT, CHECKED, PRESENT, UNINSTALLED = "absent", "checked", "present", "uninstalled"


class ActionModule(ControllerAction, CheckAction):
    """See the module's documentation."""

    ROLE = "skupper_site"
    ARGS = {
        "spec": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": [ABSENT, CHECKED, PRESENT, UNINSTALLED], "default": PRESENT},
        "upgrade": {"type": "bool", "default": False},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what C(state) says."""
        self.begin()
        state, seconds = params["state"], params["wait_timeout"]
        if state == CHECKED:
            return self.check_site(params["spec"])
        require(site_problems(params["spec"]))
        spec = NetworkSiteSpec.parse(params["spec"])
        if state == UNINSTALLED and spec.install == "none":
            return self.finished("nothing to uninstall")
        with self.reach() as cluster:
            if state == UNINSTALLED:
                return self.uninstall(cluster, spec, seconds)
            if state == ABSENT:
                return self._absent(cluster, spec, seconds)
            try:
                if spec.install != "none":
                    self.install(cluster, spec, params)
                    # An API server serves new kinds a moment after it has established their definitions.
                    self.wait(seconds, lambda: State(self.is_served(cluster)))
                return self._present(cluster, spec.on(cluster_platform.known(cluster, spec.platform)), params)
            except ClusterError:
                self.note(objects=audit_notes.of_objects(self.done["objects"]))
                raise

    def _present(self, cluster: Cluster, spec: NetworkSiteSpec, params: Mapping[str, Any]) -> dict[str, Any]:
        if not (self.check and spec.install != "none"):  # what would be installed is not there yet
            self.require_kinds(cluster)
        namespace, seconds = spec.namespace, params["wait_timeout"]
        made = self.make_namespace(cluster, spec, seconds)
        found = [] if made else cluster_state.listed(cluster, "Site", namespace)
        spec = site_plan.of_hub(spec, found)
        end = "" if made else self.end_of(cluster, namespace, own=site_plan.has_own(spec, found))
        plan = site_plan.decide_site(spec, found, end)
        if plan.fault:
            raise ClusterError(f"{plan.fault}.")
        self._let_routers_in(cluster, spec)
        self.warn(*plan.warnings)
        self.wait_gone(cluster, plan.leaving, seconds)
        # Two Sites are one too many, and the routers of the previous one must be gone before the new ones are created.
        self.remove(cluster, plan.former, seconds)
        self.wait_cleared(cluster, namespace, [state.uid(one) for one in (*plan.leaving, *plan.former)], seconds)
        rendered = [*skupper.skupper_site_objects(spec)]
        if plan.adopted is None:
            rendered += self._without_foreign(cluster, spec, new=bool(made))
        self.apply(cluster, [*made, *rendered], applyset=_SET, applyset_namespace=namespace)
        name = plan.adopted["metadata"]["name"] if plan.adopted else spec.site_name
        if params["wait"] and not self.check:
            live: Object | None = self.wait_site(cluster, namespace, name, seconds)
        else:
            live = self.read(cluster, "Site", name, namespace)
        told = facts(live, adopted=plan.adopted is not None)
        return self.finished(self._words(told, name, namespace), site=told)

    def _let_routers_in(self, cluster: Cluster, spec: NetworkSiteSpec) -> None:
        """Lower the Pod Security level of a namespace of ours to what Skupper's routers comply with. One field, so the
        roles of both ends still own all."""
        live = cluster.get("v1", "Namespace", spec.namespace)
        if not skupper_requirements.is_to_change(spec, live):
            return
        self.warn(f"{cluster.name}: {skupper_requirements.foresee(spec, live, running=False)}.")
        if not self.check:
            cluster.patch("v1", "Namespace", spec.namespace, None, skupper_requirements.patch())
        self.done["changed"] = True
        self.done["objects"].append(
            {"apiVersion": "v1", "kind": "Namespace", "namespace": "", "name": spec.namespace, "change": "changed"}
        )
        if self.show_diff:
            levels = (f"{ENFORCE}: {level}\n" for level in (skupper_requirements.enforced(live), BASELINE))
            header = f"Namespace {spec.namespace}"
            self.done["diff"].append(
                {"before_header": header, "after_header": header, **dict(zip(("before", "after"), levels))}
            )

    @staticmethod
    def _without_foreign(cluster: Cluster, spec: NetworkSiteSpec, *, new: bool) -> list[Object]:
        """The Site's objects, except a ConfigMap of someone else with the same content."""
        rendered = skupper.site_objects(spec)
        if new or not spec.controller:
            return rendered
        live = cluster.get("v1", "ConfigMap", skupper.CONTROL, spec.namespace)
        if live is None or is_ours(live):
            return rendered
        given = (live.get("data") or {}).get("controller")
        if given != spec.controller:
            raise ClusterError(
                f"ConfigMap {spec.namespace}/{skupper.CONTROL}, created by someone else, assigns the namespace to the controller "
                f"{given!r}, not to {spec.controller!r} (skupper_site_controller). Change one of the two."
            )
        return [item for item in rendered if item["kind"] != "ConfigMap"]

    @staticmethod
    def _words(found: Mapping[str, Any], name: str, namespace: str) -> str:
        if not found:
            return f"Site {namespace}/{name} would be created"
        whose = "of someone else, used as it is" if found["adopted"] else "ours"
        ready = "ready" if found["ready"] else "not ready yet"
        release = found["controller"].get("version")
        return f"Site {namespace}/{name} ({whose}) is {ready}" + (f", Skupper {release}" if release else "")

    def _absent(self, cluster: Cluster, spec: NetworkSiteSpec, seconds: float) -> dict[str, Any]:
        namespace = spec.namespace
        if cluster.get("v1", "Namespace", namespace) is None:
            return self.finished(f"there is no namespace {namespace}, so there is no Site")
        found = cluster_state.listed(cluster, "Site", namespace)
        self.refuse_other_end(cluster, namespace, hub=spec.hub, own=site_plan.has_own(spec, found), removing=_SET)
        ours, theirs = split(found)
        self.apply(
            cluster, [], state=ABSENT, applyset=_SET, applyset_namespace=namespace, wait=True, wait_timeout=seconds
        )
        self.wait_cleared(cluster, namespace, [state.uid(one) for one in ours], seconds)
        if ours and not theirs:  # no Site owns it, so it would stay, and with it the namespace
            lease = {"name": skupper.ROUTER_LEASE, "namespace": namespace}
            self.remove(cluster, [{"apiVersion": LEASES, "kind": "Lease", "metadata": lease}], seconds)
        kept = f"; {', '.join(map(state.named, theirs))}, created by someone else, stays" if theirs else ""
        gone = sum(one["change"] == "deleted" for one in self.done["objects"])
        return self.finished(f"{gone} objects {'to delete' if self.check else 'deleted'} in {namespace}{kept}", site={})
