# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of an upgrade: each case is a record, the facts of a run, and the steps until it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions, upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import next_step as steps
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.next_step import Facts, Hub, next_step, site_result
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.fleet.test_flower_versions import (
    NEW,
    OLD,
    what,
)

HUB_OLD, HUB_NEW = what("1.40.0", pools=("hub",)), what("1.41.0", pools=("hub",))
IMAGE = "a: node n: no image."


def facts_of(waves: Any = (("a",), ("b", "c")), **changed: Any) -> Facts:
    """A fleet whose hub and sites are all to be upgraded."""
    sites = {site: (OLD, NEW) for wave in waves for site in wave}
    return replace(Facts(Hub(HUB_OLD, HUB_NEW, release="1.40.0"), waves, sites, changes=frozenset(sites)), **changed)


def begun(facts: Facts) -> dict[str, Any]:
    """The record at the start."""
    return upgrade_record.begin({}, "now", facts.waves, (facts.hub.live, facts.hub.wanted), facts.sites, hub_begun=False)


def carry_out(facts: Facts, outcomes: dict[str, dict[str, str]] | None = None, hub: dict[str, Any] | None = None) -> tuple[list[str], str, Facts]:
    """All steps, as if each of them was taken; their names with the sites, how it ends, and the last facts.

    Args:
        facts: of the run.
        outcomes: step -> site -> why it fails there.
        hub: what becomes known of the hub when it is deployed.
    """
    record = {**begun(facts), "backup": "/b/hub.tar"}
    taken, errors = [], outcomes or {}
    while True:
        step = next_step(record, facts)
        if step.name in (steps.STOP, steps.END):
            return taken, step.why, facts
        taken.append(" ".join([step.name, *step.sites]))
        assert step.words and len(taken) < 30
        lost = {site: why for site, why in errors.get(step.name, {}).items() if site in step.sites}
        if step.name == steps.DEPLOY_HUB:
            facts = replace(facts, hub=replace(facts.hub, **{"error": "", **(hub or {})}))
        elif step.name == steps.ROLL_BACK_HUB:
            facts = replace(facts, hub=replace(facts.hub, rollback_error=(hub or {}).get("rollback_error") or ""))
        elif step.name == steps.PULL:
            facts = replace(facts, pulled=facts.pulled | {*step.sites}, failed={**facts.failed, **lost})
        elif step.name == steps.DEPLOY:
            facts = replace(facts, deployed=facts.deployed | {*step.sites})
        elif step.name == steps.CHECK:
            facts = replace(facts, checked=facts.checked | {*step.sites}, failed={**facts.failed, **lost})
        else:
            facts = replace(facts, rolled_back={**facts.rolled_back, **{site: lost.get(site, "") for site in step.sites}})


def test_the_hub_and_then_wave_after_wave() -> None:
    taken, why, _facts = carry_out(facts_of())
    assert taken == ["deploy_hub", "pull a", "deploy a", "check a", "pull b c", "deploy b c", "check b c"]
    assert why == "the upgrade to 1.41.0 is complete"


def test_sites_that_run_what_is_wanted_are_deployed_and_pull_nothing() -> None:
    taken, _why, _facts = carry_out(facts_of(hub=Hub(HUB_NEW, HUB_NEW), changes=frozenset("c")))
    assert taken == ["deploy_hub", "deploy a", "check a", "pull c", "deploy b c", "check b c"]


def test_a_wave_whose_images_cannot_be_pulled_does_not_begin() -> None:
    taken, why, _facts = carry_out(facts_of((("z",), ("a", "b"), ("c",))), {steps.PULL: {"a": IMAGE}})
    assert taken[-1] == "pull a b"
    assert why.startswith("wave 2 of 3 does not begin: a: node n: no image. Not touched: a, b, c. Correct the cause and run federated.flower.upgrade again")
    taken, why, _facts = carry_out(facts_of((("z",), ("a", "b"), ("c",)), most_failed=1), {steps.PULL: {"a": IMAGE}})
    assert taken[-5:] == ["deploy b", "check b", "pull c", "deploy c", "check c"]
    assert why == "the hub runs 1.41.0; a does not. Correct what is reported of them, and run federated.flower.upgrade again"


def test_a_wave_in_which_too_many_fail_is_rolled_back_whole() -> None:
    waves = (("a", "b"), ("c",))
    taken, why, facts = carry_out(facts_of(waves), {steps.CHECK: {"a": "a: no"}})
    assert taken[-1] == "roll_back a b"
    assert "wave 1 of 2 failed, and the upgrade stops: a: no; it runs 1.40.0 again. b: its wave failed; it runs 1.40.0 again. Not touched: c." in why
    record = begun(facts)
    assert site_result(record, facts, "a") == {"changed": True, "failed": True, "msg": "a: no; it runs 1.40.0 again"}
    assert site_result(record, facts, "b") == {"changed": True, "failed": False, "msg": "b: its wave failed; it runs 1.40.0 again"}
    assert site_result(record, facts, "c") is None
    _taken, why, _facts = carry_out(facts_of(waves), {steps.CHECK: {"a": "a: no"}, steps.ROLL_BACK: {"a": "a: gone"}})
    assert "a: no; and could not be rolled back to 1.40.0: a: gone." in why


def test_a_wave_in_which_fewer_fail_goes_on_without_them() -> None:
    taken, why, _facts = carry_out(facts_of((("a", "b"), ("c",)), most_failed=1), {steps.CHECK: {"a": "a: no"}})
    assert "roll_back a" in taken and taken[-1] == "check c" and why.startswith("the hub runs 1.41.0; a does not")


def test_sites_that_take_no_part_are_among_those_that_may_fail() -> None:
    down = {"down": "down: it does not answer"}
    _taken, why, _facts = carry_out(facts_of(most_failed=1, failed=down))
    assert why.startswith("the hub runs 1.41.0; down does not"), "the record stays"
    taken, why, _facts = carry_out(facts_of(most_failed=1, failed=down), {steps.CHECK: {"b": "b: no"}})
    assert taken[-1] == "roll_back b c" and "wave 2 of 2 failed" in why


@pytest.mark.parametrize("changed", [{"by_hand": frozenset("a")}, {"sites": {"a": (flower_versions.NOTHING, NEW), "b": (OLD, NEW)}}])
def test_a_bundle_and_what_is_new_stay(changed: dict[str, Any]) -> None:
    taken, why, _facts = carry_out(replace(facts_of((("a", "b"),)), **changed), {steps.CHECK: {"a": "a: no"}})
    assert taken[-1] == "roll_back b" and "a: no." in why


# ---- the hub -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hub", "known", "rolled_back", "words"),
    [
        ({}, {"error": "no image", "never_started": True}, True, "The SuperLink was not started with it, so the hub was rolled back: it runs 1.40.0 again"),
        ({}, {"error": "no image", "never_started": True, "rollback_error": "x"}, True, "rolled back to 1.40.0, and is not healthy: x"),
        ({}, {"error": "it crashes"}, False, "which 1.40.0 cannot open. No site was upgraded. Correct the cause and run "),
        ({"release": "1.41.0"}, {"error": "no image", "never_started": True}, False, "may have the format of 1.41.0"),
        ({"live": HUB_NEW}, {"error": "it crashes"}, False, "the hub is not ready: it crashes. No site was upgraded."),
        ({"wanted": what("1.40.0", "mirror", ("hub",))}, {"error": "it crashes"}, True, "Its database has the same format for both"),
        ({}, {"offline": ("7",)}, False, "were online before, are not online: 7. No site was upgraded"),
    ],
)
def test_a_hub_that_does_not_start(hub: dict[str, Any], known: dict[str, Any], rolled_back: bool, words: str) -> None:
    facts = facts_of(hub=replace(Hub(HUB_OLD, HUB_NEW, release="1.40.0"), **hub))
    taken, why, _facts = carry_out(facts, hub={**known, "rollback_error": None})
    assert ("roll_back_hub" in taken) is rolled_back and not any("deploy a" in one for one in taken)
    if known.get("rollback_error"):
        why = next_step({"hub": {"was": HUB_OLD}, "backup": ""}, replace(facts, hub=replace(facts.hub, **known))).why
    assert words in why and "No site was upgraded" in why, why


def test_there_is_no_way_back_without_a_backup() -> None:
    record = {"hub": {"was": HUB_OLD}, "backup": upgrade_record.WAIVED}
    hub = Hub(HUB_OLD, HUB_NEW, release="1.40.0", error="it crashes")
    assert "there is no way back: no backup was written (flower_upgrade_backup)" in next_step(record, facts_of(hub=hub)).why
