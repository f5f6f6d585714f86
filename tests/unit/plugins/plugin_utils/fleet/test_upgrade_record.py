# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the record of an upgrade keeps, and what an earlier one means for the next run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import upgrade_record
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.fleet.test_flower_versions import (
    NEW,
    OLD,
    what,
)


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


@pytest.mark.parametrize(
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
