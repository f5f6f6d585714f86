# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When an upgrade stops, what goes back, and how that is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions, upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.upgrade_run import Hub, UpgradeRun
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.clients import FULL
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.fleet.test_flower_versions import (
    NEW,
    OLD,
    what,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

HUB_OLD, HUB_NEW = what("1.40.0", pools=("hub",)), what("1.41.0", pools=("hub",))
HUB = Hub(HUB_OLD, HUB_NEW, release="1.40.0")


def fleet(*waves: str, failed: str = "", **changed: Any) -> tuple[dict[str, Any], UpgradeRun]:
    """A fleet whose hub and sites are all upgraded, and the record of that."""
    sites = {site: (OLD, NEW) for wave in waves for site in wave}
    found = UpgradeRun(replace(HUB), [[*wave] for wave in waves], sites, changes=frozenset(sites), failed={site: f"{site}: no" for site in failed})
    found = replace(found, **changed)
    return upgrade_record.begin({}, "now", found.waves, (HUB.live, HUB.wanted), found.sites, hub_begun=False), found


def test_a_wave_that_does_not_begin() -> None:
    record, found = fleet("z", "ab", "c", failed="a")
    assert found.stopped(record, 1, has_begun=True) == "", "the failed site is of a later wave"
    why = found.stopped(record, 2, has_begun=False)
    assert why.startswith("wave 2 of 3 does not start: a: no. Not touched: a, b, c. Correct the cause and run federated.flower.upgrade again")
    assert replace(found, most_failed=1).stopped(record, 2, has_begun=False) == ""
    assert found.end == "the hub runs 1.41.0; a does not. Correct the reported faults, and run federated.flower.upgrade again"


def test_a_wave_in_which_too_many_fail_is_rolled_back_whole() -> None:
    record, found = fleet("ab", "c", failed="a")
    assert found.to_roll_back(record, 1, "ab") == ["a", "b"] and replace(found, most_failed=1).to_roll_back(record, 1, "ab") == ["a"]
    found.rolled_back = {"a": "", "b": ""}
    why = found.stopped(record, 1, has_begun=True)
    assert "wave 1 of 2 failed, and the upgrade stops: a: no; it runs 1.40.0 again. b: its wave failed; it runs 1.40.0 again. Not touched: c." in why
    assert found.site_result(record, "a") == {"changed": True, "failed": True, "msg": "a: no; it runs 1.40.0 again"}
    assert found.site_result(record, "b") == {"changed": True, "failed": False, "msg": "b: its wave failed; it runs 1.40.0 again"}
    assert found.site_result(record, "c") is None
    found.rolled_back["a"] = "a: gone"
    assert "a: no; and could not be rolled back to 1.40.0: a: gone." in found.stopped(record, 1, has_begun=True)


def test_sites_that_take_no_part_are_among_those_that_may_fail() -> None:
    record, found = fleet("a", "b", most_failed=1, failed={"down": "down: it does not answer"})
    assert not found.too_many_failed(1) and "down does not" in found.end, "the record stays"
    found.failed["b"] = "b: no"
    assert not found.too_many_failed(1) and found.to_roll_back(record, 2, "b") == ["b"] and "wave 2 of 2 failed" in found.stopped(record, 2, has_begun=True)


@pytest.mark.parametrize("changed", [{"by_hand": frozenset("a")}, {"sites": {"a": (flower_versions.NOTHING, NEW), "b": (OLD, NEW)}}])
def test_a_bundle_and_what_is_new_stay(changed: dict[str, Any]) -> None:
    record, found = fleet("ab", failed="a", **changed)
    assert found.to_roll_back(record, 1, "ab") == ["b"]


@each_row(
    ("hub", "rollback_error", "rolled_back", "words"),
    [
        ({"error": "no image", "never_started": True}, "", True, "The SuperLink was not started with it, so the hub was rolled back: it runs 1.40.0 again"),
        ({"error": "no image", "never_started": True}, "x", True, "rolled back to 1.40.0, and is not healthy: x"),
        ({"error": "it crashes"}, "", False, "which 1.40.0 cannot open. No site was upgraded. Correct the cause and run "),
        ({"release": "1.41.0", "error": "no image", "never_started": True}, "", False, "may have the format of 1.41.0"),
        ({"live": HUB_NEW, "error": "it crashes"}, "", False, "the hub is not ready: it crashes. No site was upgraded."),
        ({"wanted": what("1.40.0", "mirror", ("hub",)), "error": "it crashes"}, "", True, "Its database has the same format for both"),
        ({"offline": ("7",)}, "", False, "were online before, are not online: 7. No site was upgraded"),
    ],
)
def test_a_hub_that_does_not_start(hub: dict[str, Any], rollback_error: str, rolled_back: bool, words: str) -> None:
    found, was = replace(HUB, **hub), HUB_OLD if "live" not in hub else HUB_NEW
    record = {"hub": {"was": was}, "backup": "/b/hub.tar"}
    assert found.can_go_back(was) is rolled_back
    why = found.stopped(record, rollback_error)
    assert words in why and "No site was upgraded" in why, why
    assert replace(found, error="", offline=()).stopped(record) == ""


def test_there_is_no_way_back_without_a_backup() -> None:
    record = {"hub": {"was": HUB_OLD}, "backup": upgrade_record.WAIVED}
    assert "this cannot be undone: no backup was written (flower_upgrade_backup)" in replace(HUB, error="it crashes").stopped(record)


def begin(known: Any, live: Any = None, target: Any = None, *, answers: bool = False) -> Any:
    live, target = live or OLD, target or NEW
    sites = {"a": (live, target), "b": (OLD, target)}
    begun = upgrade_record.is_hub_begun(known, live, target["version"], answers=answers)
    return upgrade_record.begin(known, "now", [["a"], ["b"]], (live, target), sites, hub_begun=begun)


def test_what_ran_before_is_kept() -> None:
    first = begin({})
    assert first["sites"]["a"] == {"was": OLD, "state": "waiting"} and first["hub"]["state"] == "waiting"
    assert begin(first) == first
    broken = what("1.41.0", "none")
    half = {**first, "hub": {"was": OLD, "state": "begun"}, "backup": "x", "sites": {**first["sites"], "a": {"was": OLD, "state": "begun"}}}
    again = begin(half, broken)
    assert again["sites"]["a"] == {"was": OLD, "state": "begun"} and again["hub"]["was"] == OLD and again["backup"] == "x"
    done = {**first, "sites": {"a": {"was": OLD, "state": "done"}, "b": {"was": OLD, "state": "waiting"}}}
    assert begin(done, NEW)["sites"]["a"] == {"was": NEW, "state": "done"}
    left_out = upgrade_record.begin(half, "now", [["b"]], (OLD, NEW), {"b": (OLD, NEW)}, hub_begun=True)
    assert left_out["sites"]["a"]["was"] == OLD, "it is not reached in this run, and its state is still known"
    other = begin(half, broken, what("1.42.0"))
    assert other["target"] == "1.42.0" and other["sites"]["a"]["was"] == OLD, "what is half done is never what ran before"
    assert other["hub"] == {"was": OLD, "state": "begun"} and other["backup"] == "x", "the way back stays that of the hub that does not answer"


@each_row(
    ("live", "target", "answers", "begun"),
    [
        (NEW, what("1.42.0"), True, False),  # it ended at the hub, and another upgrade begins
        (NEW, what("1.42.0"), False, True),
        (OLD, NEW, True, False),  # interrupted before the hub was changed
        (OLD, NEW, False, True),
        (NEW, NEW, True, True),  # to be completed
        (NEW, what("1.41.0", "mirror"), True, True),  # half of what ran may be of another registry
        (what("1.40.0", "mirror"), what("1.42.0"), True, True),  # half changed
    ],
)
def test_a_hub_that_an_earlier_run_left(live: Any, target: Any, answers: bool, begun: bool) -> None:
    """Only what a SuperLink that answers runs, and all of it, is what runs before the next upgrade, which then has its own backup."""
    half = {**begin({}), "hub": {"was": OLD, "state": "begun"}, "backup": "x"}
    assert upgrade_record.is_hub_begun(half, live, target["version"], answers=answers) is begun
    assert not upgrade_record.is_hub_begun({**half, "hub": {"was": OLD, "state": "done"}}, live, target["version"], answers=answers)
    assert not upgrade_record.is_hub_begun({}, live, target["version"], answers=answers)
    again = begin(half, live, target, answers=answers)
    assert again["hub"] == ({"was": OLD, "state": "begun"} if begun else {"was": live, "state": "waiting"})
    assert again["backup"] == ("x" if again["hub"]["was"] == OLD else ""), "an archive is the way back to what ran when it was written"


def test_how_far_it_is() -> None:
    record = {**begin({}), "sites": {"a": {"state": "rolled back"}, "b": {"state": "done"}}}
    assert "hub waiting, 1 of 2 sites done, a rolled back" in upgrade_record.describe(record)
    assert "rolled back, the backup before it is /b/a.tar; federated" in upgrade_record.describe({**record, "backup": "/b/a.tar"})
    assert "backup" not in upgrade_record.describe({**record, "backup": upgrade_record.WAIVED})
    assert upgrade_record.describe({}) == ""


def test_what_is_left_to_an_upgrade_that_is_not_complete() -> None:
    record = {**begin({}), "sites": {name: {"state": state} for name, state in (("a", "rolled back"), ("b", "done"), ("c", "waiting"), ("d", "begun"))}}
    assert upgrade_record.hosts_not_done(record, "hub") == ["hub", "a", "c", "d"]
    assert upgrade_record.hosts_not_done({**record, "hub": {"state": "done"}}, "hub") == ["a", "c", "d"]
    assert upgrade_record.hosts_not_done({}, "hub") == []


def test_check_mode_remembers_what_it_would_write() -> None:
    store = upgrade_record.Store(SimpleNamespace(get=lambda *_given: None), "flower", "demo", check=True)
    assert store.read() == {}
    assert store.change(lambda old: {**old, "hub": {"state": "waiting"}}) == {"hub": {"state": "waiting"}}
    assert store.change(lambda old: upgrade_record.with_hub(old, state="begun")) == store.read() == {"hub": {"state": "begun"}}
    assert not store.delete()


class Stored:
    """A hub with the ConfigMap."""

    name = "hub"

    def __init__(self, text: str = "") -> None:
        self.text = text

    def get(self, *_place: Any) -> dict[str, Any] | None:
        metadata = {"name": upgrade_record.NAME, "namespace": "flower", "resourceVersion": "1", "labels": {"app.kubernetes.io/managed-by": "federated.flower"}}
        return {"metadata": metadata, "data": {"upgrade.json": self.text}} if self.text else None

    def create(self, item: Any) -> None:
        self.text = item["data"]["upgrade.json"]

    replace = create


def pinned(version: str) -> dict[str, Any]:
    """What runs at a site with two pools, from a mirror, by digests."""
    found = what(version, "registry.hospital.example/federated", ("cpu", "gpu"))
    for one in found["workloads"]:
        one["images"] = {name: f"{image.rpartition(':')[0]}@sha256:{'a' * 64}" for name, image in one["images"].items()}
    return found


def test_the_record_of_a_thousand_sites_fits_into_a_config_map() -> None:
    live, want = pinned("1.40.0"), pinned("1.41.0")
    sites = {f"site-{number:04}-hospital": (live, want) for number in range(1000)}
    new = upgrade_record.begin({}, "now", [list(sites)], (live, want), sites, hub_begun=False)
    hub = Stored()
    store = upgrade_record.Store(hub, "flower", "demo")  # type: ignore[arg-type]
    assert store.change(lambda _old: new) == store.read() == new
    assert len(hub.text) < FULL / 8
    states = {name: {"state": "begun", "why": f"{name}: {'x' * 9000}"} for name in sites}
    store.change(lambda old: upgrade_record.with_sites(old, states))
    assert len(hub.text) < FULL * 3 / 4, "also if all of them fail, with long reasons"
    found = store.read()["sites"]["site-0007-hospital"]
    assert found["was"] == live and found["state"] == "begun" and found["why"].startswith("site-0007-hospital: xxx") and len(found["why"]) == 500


def test_an_upgrade_that_an_earlier_release_began_is_continued() -> None:
    """It wrote at each site what ran there."""
    before = begin({})
    before["sites"]["a"]["state"] = "begun"
    hub = Stored(json.dumps(before, sort_keys=True, indent=1))
    store = upgrade_record.Store(hub, "flower", "demo")  # type: ignore[arg-type]
    assert store.read() == before and store.change(lambda old: old) == before
    after = store.change(lambda old: upgrade_record.with_sites(old, {"b": {"state": "done"}}))
    assert after == store.read() and after["sites"] == {"a": {"was": OLD, "state": "begun"}, "b": {"was": OLD, "state": "done"}}


def test_a_record_that_someone_has_changed_is_named() -> None:
    hub = Stored()
    store = upgrade_record.Store(hub, "flower", "demo")  # type: ignore[arg-type]
    store.change(lambda _old: begin({}))
    hub.text = json.dumps({**json.loads(hub.text), "versions": []})
    with pytest.raises(ClusterError, match="ConfigMap flower/flower-upgrade on hub cannot be read.*Restore it, or delete it"):
        store.read()
