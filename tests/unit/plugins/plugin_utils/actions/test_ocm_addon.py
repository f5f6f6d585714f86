# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order the objects of the add-on are applied, and what stops it."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import ocm_addon
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.placement_switch import Handover

BEFORE, ADD_ON = ["ManagedClusterSetBinding", "Placement"], "ClusterManagementAddOn"
VERSIONED = ["AddOnTemplate", "AddOnDeploymentConfig"]


class Run:
    """Runs the action on a hub with an add-on, and keeps what it applies, whether it prunes, and when it waits."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, live: dict[str, Any] | None, *, selected: bool = True, binding: Any = None, loss: str = ""
    ) -> None:
        self.steps: list[Any] = []
        self.noted: list[Any] = []
        self.rendered: list[str] | None = None
        self.live, self.selected, self.binding = live, selected, binding
        monkeypatch.setattr(ocm_addon, "apply_objects", self._apply)
        nothing = {"changed": False, "objects": [], "diff": [], "warnings": [], "msg": ""}
        monkeypatch.setattr(ocm_addon.Cleanup, "clean", lambda cleanup: self.steps.append(f"clean up after {cleanup._params['addon']}") or nothing)
        monkeypatch.setattr(ocm_addon.placement_switch, "loss", lambda *_given: loss)
        monkeypatch.setattr(Handover, "wait", lambda _self: self._wait())
        monkeypatch.setattr(Handover, "wait_until_taken_over", lambda _self: self.steps.append("taken over"))

    def _apply(self, _hub: Any, objects: Any, *, check: bool, show_diff: bool, **options: Any) -> Result:
        state = options.get("state", "present")
        self.steps.append(
            ([item["kind"] for item in objects], "applyset" in options and options.get("prune", True), state)
        )
        entries = [{"kind": item["kind"], "name": item["metadata"]["name"], "change": "created"} for item in objects]
        return Result(True, "done", entries)

    @property
    def applied(self) -> list[Any]:
        return [step for step in self.steps if isinstance(step, tuple)]

    def _wait(self) -> None:
        self.steps.append("wait")
        if not self.selected:
            raise ClusterError("not selected")

    def __call__(self, spec: dict[str, Any], *, check: bool = False, rendering: bool = False, **options: Any) -> dict[str, Any]:
        sites = [
            {"metadata": {"name": "flower-supernode", "namespace": "a", "annotations": {addon_objects.SITE_NOTE: "a"}}}
        ]
        clusters = [{"metadata": {"name": "a"}}]
        hub = SimpleNamespace(
            name="hub",
            get=lambda _api, kind, *_which: self.binding if kind == "ManagedClusterSetBinding" else self.live,
            list=lambda _api, kind, **_more: clusters if kind == "ManagedCluster" else sites,
        )
        action: Any = object.__new__(ocm_addon.ActionModule)
        action._task = SimpleNamespace(check_mode=check, diff=False)
        action.inventory_host, action.rendering = "hub", rendering
        action.render = lambda _host, objects: setattr(self, "rendered", [item["kind"] for item in objects])
        action.connect = lambda: contextlib.nullcontext(hub)
        action.note = lambda **facts: self.noted.extend(facts["objects"])
        action.say = lambda _text: None
        return action.execute(action._checked(action.ARGS, {}, {"spec": spec, **options}, ""), {})


def management(parsed: Any, **changes: Any) -> dict[str, Any]:
    return addon_objects.addon_objects(parsed(**changes))[-1]


def test_the_add_on_gets_a_new_placement_before_the_former_one_goes(monkeypatch, parsed_addon, ocm_addon_spec):
    run = Run(monkeypatch, management(parsed_addon, install="Manual"))
    result = run(ocm_addon_spec())
    whole = [*BEFORE, ADD_ON]
    assert run.steps == [
        (VERSIONED, False, "present"),
        (BEFORE, False, "present"),
        "wait",
        (whole, False, "present"),
        "taken over",
        (whole, True, "present"),
    ]
    assert result["changed"]


def test_without_another_placement_nothing_is_waited_for(monkeypatch, parsed_addon, ocm_addon_spec):
    for live in (None, management(parsed_addon)):
        run = Run(monkeypatch, live)
        run(ocm_addon_spec())
        assert run.steps == [(VERSIONED, False, "present"), ([*BEFORE, ADD_ON], True, "present")]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_binding_of_the_hubs_administrators_is_used_and_stays(state, monkeypatch, ocm_addon_spec, parsed_addon):
    """`clusteradm clusterset bind default --namespace flower` was run before."""
    whole = addon_objects.addon_objects(parsed_addon())
    ours = next(item for item in whole if item["kind"] == "ManagedClusterSetBinding")
    theirs = {**ours, "metadata": {**ours["metadata"], "labels": {}}}
    for binding, kinds in ((theirs, ["Placement", ADD_ON]), (ours, [*BEFORE, ADD_ON])):
        run = Run(monkeypatch, None, binding=binding)
        run(ocm_addon_spec(), state=state)
        assert run.applied[-1] == (kinds, True, state)


def test_bindings_of_this_collection_stay_when_it_is_not_to_create_them_any_more(monkeypatch, ocm_addon_spec, parsed_addon):
    """Without them the Placement would select nothing, and OCM would delete the SuperNodes of all sites."""
    ours = next(item for item in addon_objects.addon_objects(parsed_addon()) if item["kind"] == "ManagedClusterSetBinding")
    for binding, kinds in ((ours, [*BEFORE, ADD_ON]), (None, ["Placement", ADD_ON])):
        run = Run(monkeypatch, management(parsed_addon), binding=binding)
        run(ocm_addon_spec(bind_cluster_sets=False))
        assert run.steps[-1] == (kinds, True, "present")


def test_files_for_a_gitops_controller_have_the_bindings_that_a_run_would_apply(monkeypatch, ocm_addon_spec, parsed_addon):
    """A binding that leaves the file is pruned, and the Placement selects nothing; one of the administrators is not to be taken over."""
    ours = next(item for item in addon_objects.addon_objects(parsed_addon()) if item["kind"] == "ManagedClusterSetBinding")
    theirs = {**ours, "metadata": {**ours["metadata"], "labels": {}}}
    for binding, bind, kinds in ((ours, False, [*BEFORE, ADD_ON]), (None, True, [*BEFORE, ADD_ON]), (theirs, True, ["Placement", ADD_ON])):
        run = Run(monkeypatch, management(parsed_addon), binding=binding)
        run(ocm_addon_spec(bind_cluster_sets=bind), check=True, rendering=True)
        assert run.rendered == [*VERSIONED, *kinds] and run.steps == []


def test_another_placement_is_not_handed_over_by_a_gitops_controller(monkeypatch, parsed_addon, ocm_addon_spec):
    """It applies the Placement and the add-on at once: OCM would delete the add-on in every cluster before the Placement has selected any."""
    run = Run(monkeypatch, management(parsed_addon, install="Manual"))
    with pytest.raises(ClusterError, match=r"nothing was written: .* from the Placement flower/flower-supernode\. .* until that has selected a, "):
        run(ocm_addon_spec(), check=True, rendering=True)
    assert run.rendered is None


def test_a_placement_that_would_lose_a_site_is_not_changed(monkeypatch, ocm_addon_spec, parsed_addon):
    run = Run(monkeypatch, management(parsed_addon), loss="a site would be lost")
    with pytest.raises(ClusterError, match=r"nothing is changed: a site would be lost\."):
        run(ocm_addon_spec())
    assert run.steps == []
    run(ocm_addon_spec(), state="absent")
    assert run.steps, "a teardown means it"


def test_the_add_on_stays_as_it_is_if_a_site_would_lose_it(monkeypatch, parsed_addon, ocm_addon_spec):
    run = Run(monkeypatch, management(parsed_addon, install="Manual"), selected=False)
    with pytest.raises(ClusterError, match="not selected"):
        run(ocm_addon_spec())
    assert run.steps[-1] == "wait" and not any(ADD_ON in step[0] for step in run.steps)
    assert "Placement flower-supernode" in [one["object"] for one in run.noted], "what was done is in the audit trail"


def test_check_mode_says_what_it_would_wait_for(monkeypatch, parsed_addon, ocm_addon_spec):
    run = Run(monkeypatch, management(parsed_addon, install="Manual"))
    (warning,) = run(ocm_addon_spec(), check=True)["warnings"]
    assert "switches to the Placement flower/flower-supernode as soon as that has selected a;" in warning
    assert "wait" not in run.steps and len(run.steps) == 2


def test_a_spec_with_faults_is_not_applied(monkeypatch, ocm_addon_spec):
    run = Run(monkeypatch, None)
    with pytest.raises(ClusterError, match="ocm_addon_install: 'auto' is not one of"):
        run(ocm_addon_spec(install="auto"))
    assert run.steps == []


@pytest.mark.parametrize("state", ["present", "absent"])
def test_the_add_on_of_the_same_federation_in_another_namespace_is_left_alone(
    state, monkeypatch, parsed_addon, ocm_addon_spec
):
    run = Run(monkeypatch, management(parsed_addon, namespace="production"))
    with pytest.raises(ClusterError, match="nothing is changed: the hub has an add-on flower-supernode"):
        run(ocm_addon_spec(), state=state)
    assert run.steps == []
    run(ocm_addon_spec(), state=state, claim=True)
    assert run.applied[-1] == ([*BEFORE, ADD_ON], True, state)
    assert (run.steps[-1] == "clean up after flower-supernode") is (state == "absent")
