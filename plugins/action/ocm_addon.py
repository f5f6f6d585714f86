# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_addon): the add-on's objects on the hub, so that no site loses it by a change of its Placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result, merged
from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import Object
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api, checks, placement_switch
from ansible_collections.federated.flower.plugins.plugin_utils.spec.addon_spec import AddonSpec
from ansible_collections.federated.flower.plugins.plugin_utils.validate.parsed_spec import SpecError
from ansible_collections.federated.flower.plugins.plugin_utils.validate.render_addon import ocm_addon_objects

_SET = "ocm-addon"
_BINDING = "ManagedClusterSetBinding"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "spec": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "claim": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """What was done before an error is recorded, too."""
        try:
            objects = ocm_addon_objects(params["spec"])
        except SpecError as error:
            raise ClusterError(str(error)) from error
        spec = AddonSpec.parse(params["spec"])
        versioned = [item for item in objects if item["kind"] in addon_objects.VERSIONED]
        rest = [item for item in objects if item["kind"] not in addon_objects.VERSIONED]
        self._results: list[Result] = []
        self._warnings: list[str] = []
        with self.connect() as hub:
            hub.name = self.inventory_host
            live = self._management(hub, spec.name)
            faults = checks.foreign(spec, live, claim=params["claim"])
            if faults:
                raise ClusterError(f"nothing is changed: {faults[0]}.")
            if params["state"] == "present" and (loss := placement_switch.loss(hub, spec, live)):
                raise ClusterError(f"nothing is changed: {loss}.")
            rest = self._bindings(hub, spec) + [item for item in rest if item["kind"] != _BINDING]
            if self.rendering and params["state"] == "present":
                return self._render(hub, spec.name, live, [*versioned, *rest])
            self._options = {"applyset": _SET, "applyset_namespace": spec.namespace}
            try:
                if params["state"] == "present":
                    self._apply(hub, versioned)
                    self._hand_over(hub, spec.name, placement_switch.first(live, rest), rest)
                    self._apply(hub, rest, **self._options)
                else:
                    self._apply(
                        hub,
                        rest,
                        **self._options,
                        state="absent",
                        own_only=True,
                        wait=True,
                        wait_timeout=params["wait_timeout"],
                    )
            except ClusterError:
                self.note(objects=notes.of_objects(merged(self._results)["objects"]))
                raise
        found = merged(self._results)
        return {
            **found,
            "warnings": [*self._warnings, *found["warnings"]],
            "msg": "; ".join(one.msg for one in self._results),
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
                f"nothing is written: the add-on {name} is to get its clusters from the Placement {meta['namespace']}/{meta['name']}. A GitOps controller "
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
            self._warnings += (
                [f"{sites.sentence()}; if it does not select them, nothing is handed over."] if sites.sites else []
            )
            return
        self._apply(hub, before, **self._options, prune=False)
        if sites.sites:
            self.say(f"{self.inventory_host}: {sites.sentence()}")
        sites.wait()
        self._apply(hub, objects, **self._options, prune=False)
        sites.wait_until_taken_over()

    def _apply(self, hub: Cluster, objects: Sequence[Object], **options: Any) -> None:
        self._results.append(apply_objects(hub, objects, check=self.check, show_diff=self.show_diff, **options))
