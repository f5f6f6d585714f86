# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink): check the hub and deploy the SuperLink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import (
    described,
    given_spec,
    hub_settings,
)
from ansible_collections.federated.flower.plugins.plugin_utils.actions.hub_certificates import APPLYSET, HubCertificates
from ansible_collections.federated.flower.plugins.plugin_utils.actions.hub_check import HubCheck
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import BESIDE, wrong_types
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result, merged_results
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import Problem, require
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import Object
from ansible_collections.federated.flower.plugins.plugin_utils.checks.acm_rules import metrics_policy_problems
from ansible_collections.federated.flower.plugins.plugin_utils.checks.hub_rules import hub_problems
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.role_objects import rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.kube import stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import acm_policies
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes

CHECKED, DESCRIBED, SERVICES, PRESENT = "checked", "described", "services", "present"


class ActionModule(HubCheck, HubCertificates):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Deploy the SuperLink, or the part of it that C(state) names."""
        if params["state"] == CHECKED:
            return self.check_hub(params["works"], serves_later=params["serves_later"])
        if params["state"] == DESCRIBED:
            return self._describe(params)
        self._done: list[Result] = []
        try:
            return self._apply_part(params["state"])
        except ClusterError:
            self.note(objects=audit_notes.of_objects(merged_results(self._done)["objects"]))
            raise

    def _apply_part(self, state: str) -> dict[str, Any]:
        settings, warnings, checked = hub_settings(self), [], {}
        if state == PRESENT and "superlink_checked" not in self.task_vars:  # the role alone
            checked = self.check_hub()
            warnings = checked["warnings"]
        spec = given_spec(self, None, checked.get("platform", ""))
        spec = replace(spec, route_api=checked.get("route_api") or spec.route_api)
        if state == PRESENT:
            return self._deploy(spec, settings, warnings)
        return self._apply(spec, settings, superlink.front_objects(spec), prune=False, wait=True).as_dict()

    def make_lease_namespace(self, hub: Cluster) -> bool:
        """Nothing else is applied before the lease is taken, so of several first deployments one goes on."""
        if self.params["state"] not in (SERVICES, PRESENT):
            return False
        objects = [one for one in superlink.front_objects(given_spec(self, None)) if one["kind"] == "Namespace"]
        self.note(objects=audit_notes.of_objects(apply_objects(hub, objects, own_only=True).objects))
        return True

    def _describe(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["rights"] is not None or params["policy"] is not None:
            require(map(Problem, wrong_types(self, SUPERLINK, *BESIDE)))
        spec, settings, objects = described(self), hub_settings(self), []
        if params["rights"] is not None:
            objects = rights_objects(SUPERLINK, spec, {**params["rights"], "ca_namespace": settings["ca_namespace"]})
        elif params["policy"] is not None:
            require(hub_problems(spec) + metrics_policy_problems(spec, params["policy"], acm_policies.metrics_policy_name(str(spec["federation"]))))
            hub, policy = HubSpec.parse(spec), params["policy"]
            objects = acm_policies.metrics_objects(hub, superlink.objects(hub.complete()), policy["remediation"], policy["labels"])
        if params["rights"] is not None or params["policy"] is not None:
            return {"changed": False, "objects": objects}  # without the specification, in which environments may be secret
        return {"changed": False, "objects": [], "spec": spec, "ca_namespace": settings["ca_namespace"], "seconds": settings["wait_timeout"]}

    def _deploy(self, spec: HubSpec, settings: Mapping[str, Any], warnings: list[str]) -> dict[str, Any]:
        """Namespace and Services, which give the address; certificates, which need it; the rest, which needs both."""
        front = self._apply(spec, settings, superlink.front_objects(spec), prune=False, wait=True)
        issued = self.issue_missing(spec, settings)
        self._done.append(Result(objects=issued["objects"]))
        spec = self.with_issued(spec, issued)
        rest = self._apply(spec, settings, superlink.objects(spec), prune=None, wait=settings["wait"])
        self._refresh(spec, rest)
        applied = merged_results([front, rest])
        return {
            **issued,
            "changed": applied["changed"] or issued["changed"],
            "diff": [*front.diff, *issued["diff"], *rest.diff],
            "objects": [*front.objects, *issued["objects"], *rest.objects],
            "warnings": [*warnings, *issued["warnings"], *applied["warnings"]],
            "msg": f"{rest.msg}; {issued['msg']}",
        }

    def _apply(self, spec: HubSpec, settings: Mapping[str, Any], objects: Sequence[Object], **options: Any) -> Result:
        """Apply objects of the hub; with options of a set (see C(apply_objects)) as members of its set."""
        if self.rendering:
            self.render(self.inventory_host, objects)
            return Result(msg=f"{len(objects)} objects are written by the end of the playbook")
        of_set = {"applyset": APPLYSET, "applyset_namespace": spec.namespace, "owner": owners.deployment_notes(federation=spec.federation)}
        options = {**(of_set if options else {}), **options}
        with self.connect() as hub:
            hub.name = self.inventory_host
            self._done.append(
                apply_objects(
                    hub, objects, own_only=True, check=self.check, show_diff=self.show_diff, wait_timeout=settings["wait_timeout"], **options
                )
            )
        return self._done[-1]

    def _refresh(self, spec: HubSpec, applied: Result) -> None:
        """Have pods read the files of changed ConfigMaps and Secrets at once."""
        if not self.check and stuck_pods.are_files_changed(applied.objects):
            with self.connect() as hub:
                stuck_pods.touch_pods(hub, spec.namespace, proof.pods_query(spec.federation, superlink.NAME))
