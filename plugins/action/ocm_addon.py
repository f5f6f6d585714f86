# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_addon): the add-on on the hub, so that no site loses it by a change of its Placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.ocm_hub import Cleanup, enable_gate, places
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import (
    RoleAction,
    site_hosts,
    wrong_types,
)
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result, merged_results
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import Problem, require
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import Object
from ansible_collections.federated.flower.plugins.plugin_utils.checks.acm_rules import policy_problems
from ansible_collections.federated.flower.plugins.plugin_utils.checks.ocm_rules import addon_problems
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    acm_policies,
    addon_objects,
    api,
    checks,
    hub_reader,
    leaving,
    placement_switch,
)
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import AddonSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes

ABSENT, CHECKED, CLEANED, POLICY, PRESENT = "absent", "checked", "cleaned", "policy", "present"
_SET = "ocm-addon"
_BINDING = "ManagedClusterSetBinding"


class ActionModule(RoleAction):
    """See the module's documentation."""

    role = "ocm_addon"

    def arguments(self) -> dict[str, Any]:
        """See C(RoleAction); C(sites) are those of the inventory."""
        return {"sites": site_hosts(self)} | super().arguments()

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what C(state) says."""
        state = params["state"]
        place = {"addon": params["spec"]["name"], **{key: params["spec"][key] for key in ("federation", "namespace")}}
        if state == CLEANED:  # also of a fleet without the add-on, whose variables are not checked
            return Cleanup(self, {**params, **place}).clean()
        wrong = [Problem(fault) for fault in wrong_types(self, "ocm_addon")] if state == CHECKED else []
        require([*wrong, *(policy_problems if state == POLICY else addon_problems)(params["spec"])])
        spec = AddonSpec.parse(params["spec"])
        if state == POLICY:
            return {"changed": False, "objects": acm_policies.baseline_objects(spec)}
        objects = addon_objects.addon_objects(spec)
        if state == CHECKED:
            return self._check_hub(spec, params)
        done = self._apply_or_remove(spec, objects, params)
        if state == PRESENT:
            return done
        cleaned = Cleanup(self, {**params, **place, "sites": None}).clean()
        return {**done, **{key: done[key] + cleaned.get(key, []) for key in ("objects", "diff", "warnings")}, "changed": done["changed"] or cleaned["changed"]}

    def _check_hub(self, spec: AddonSpec, params: dict[str, Any]) -> dict[str, Any]:
        """Read everything, then report all faults at once."""
        with self.connect() as hub:
            found = hub_reader.at_addon(hub, spec, claim=params["claim"])
            loss = placement_switch.loss(hub, spec, hub.get(api.ADDONS, "ClusterManagementAddOn", spec.name))
            if loss:
                raise ClusterError(f"{loss}.")
            addons = hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={spec.name}") if params["sites"] else []
        where = places(self, sorted({leaving.site_of(item) for item in addons} & set(params["sites"])))
        left = [leaving.moved_sentence(site, cluster, where[site]) for site, cluster in leaving.moved(addons, where)]
        return {
            **found,
            "warnings": [*found["warnings"], *left],
            "changed": False,
            "msg": f"{hub.name} is an Open Cluster Management hub that can deliver SuperNodes",
        }

    def _apply_or_remove(self, spec: AddonSpec, objects: Sequence[Object], params: dict[str, Any]) -> dict[str, Any]:
        """Apply the add-on or delete it. What was done before an error is recorded, too."""
        versioned = [item for item in objects if item["kind"] in addon_objects.VERSIONED]
        rest = [item for item in objects if item["kind"] not in (*addon_objects.VERSIONED, _BINDING)]
        present = params["state"] == PRESENT
        self._results: list[Result] = []
        self._warnings: list[str] = []
        self._options = {"applyset": _SET, "applyset_namespace": spec.namespace}
        with self.connect() as hub:
            hub.name = self.inventory_host
            enabled = enable_gate(self, hub, params["wait_timeout"]) if present and spec.clientapps and spec.enable_gates else ""
            live = self._management(hub, spec.name)
            problems = checks.foreign(spec, live, claim=params["claim"])
            if present and not problems:
                problems = [one for one in [placement_switch.loss(hub, spec, live)] if one]
            if problems:
                raise ClusterError(f"nothing is changed: {problems[0]}.")
            rest = self._bindings(hub, spec) + rest
            if self.rendering and present:
                return self._render(hub, spec.name, live, [*versioned, *rest])
            try:
                if present:
                    self._apply(hub, versioned)
                    self._hand_over(hub, spec.name, placement_switch.first(live, rest), rest)
                    self._apply(hub, rest, **self._options)
                else:
                    self._apply(hub, rest, **self._options, state=ABSENT, own_only=True, wait=True, wait_timeout=params["wait_timeout"])
            except ClusterError:
                self.note(objects=audit_notes.of_objects(merged_results(self._results)["objects"]))
                raise
        found = merged_results(self._results)
        return {
            **found,
            "changed": found["changed"] or bool(enabled),
            "warnings": [*self._warnings, *found["warnings"]],
            "msg": "; ".join([*filter(None, [enabled and f"enabled {enabled}"]), *(one.msg for one in self._results)]),
        }

    @staticmethod
    def _management(hub: Cluster, name: str) -> dict[str, Any] | None:
        """The live ClusterManagementAddOn; None also on a cluster that no longer is a hub of Open Cluster Management."""
        try:
            return hub.get(api.ADDONS, "ClusterManagementAddOn", name)
        except NotServed:
            return None

    @staticmethod
    def _bindings(hub: Cluster, spec: AddonSpec) -> list[Object]:
        """Bindings of the cluster sets. Those of someone else are used as they are. Those of this collection stay, without them nothing would be selected,
        also if it is not to create them any more (C(bind_cluster_sets))."""
        found = []
        for item in [addon_objects.set_binding(spec, one) for one in spec.cluster_sets] if spec.has_placements else []:
            live = hub.get(api.SETS, _BINDING, item["metadata"]["name"], spec.namespace)
            if spec.bind_cluster_sets if live is None else proof.is_managed(live):
                found.append(item)
        return found

    def _render(self, hub: Cluster, name: str, live: dict[str, Any] | None, objects: Sequence[Object]) -> dict[str, Any]:
        """Keep the objects for a GitOps controller, which applies them at once, and so cannot hand an add-on over."""
        before = placement_switch.first(live, objects)
        sites = placement_switch.Handover(hub, name, before).sites if before else []
        if sites:
            meta = before[-1]["metadata"]
            raise ClusterError(
                f"nothing was written: the add-on {name} is to get its clusters from the Placement {meta['namespace']}/{meta['name']}. A GitOps controller "
                f"would not wait until that has selected {', '.join(sites)}, and Open Cluster Management would delete their SuperNodes with their keys. "
                "Suspend the controller for this hub, run federated.flower.site, which waits for it, set the annotations that it may ask for, and render again."
            )
        self.render(self.inventory_host, objects)
        return {"changed": False, "objects": [], "msg": f"{len(objects)} objects are written by the end of the playbook"}

    def _hand_over(self, hub: Cluster, name: str, before: Sequence[Object], objects: Sequence[Object]) -> None:
        """Let the add-on get its clusters from another Placement; the former one stays."""
        if not before:
            return
        sites = placement_switch.Handover(hub, name, before)
        if self.check:
            self._warnings += [f"{sites.sentence()}; if it does not select them, the add-on keeps its current Placement."] if sites.sites else []
            return
        self._apply(hub, before, **self._options, prune=False)
        if sites.sites:
            self.say(f"{self.inventory_host}: {sites.sentence()}")
        sites.wait()
        self._apply(hub, objects, **self._options, prune=False)
        sites.wait_until_taken_over()

    def _apply(self, hub: Cluster, objects: Sequence[Object], **options: Any) -> None:
        self._results.append(apply_objects(hub, objects, check=self.check, show_diff=self.show_diff, **options))
