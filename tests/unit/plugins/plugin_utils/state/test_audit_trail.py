# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit trail in the hub's ConfigMaps: one chain, whoever writes, and whichever release began it."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.kube import configmaps
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound, Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import (
    FULL,
    NAME,
    Trail,
    continuation,
    log_name,
)
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import (
    START,
    Entry,
    Head,
    Line,
    export,
    head_of,
    read_export,
    seal,
    verify,
)
from ansible_collections.federated.flower.tests.unit.audit_hub import MIB, Hub
from ansible_collections.federated.flower.tests.unit.rows import each_row

#: What the release before wrote: three ConfigMaps with 14 entries, among them one in three parts, one of a run that was killed, and a
#: shortened fact. Its ConfigMaps were full at 6 KiB, so that the file is small.
PREVIOUS = json.loads(Path(__file__).with_name("previous_release.json").read_text(encoding="ascii"))
COUNT = 14


def content(number: int, size: int = 0) -> dict[str, Any]:
    return {"id": f"{number:06}", "sites": {"a": {"words": ["x" * size]}}}


def trail(hub: Hub) -> Trail:
    return Trail(hub, "flower", "flower")


def previous() -> Hub:
    return Hub(objects=copy.deepcopy(PREVIOUS["objects"]))


def texts(hub: Hub) -> list[str]:
    return [line.text for line in trail(hub).read()[0]]


# ---- the trail of the release before ---------------------------------------------------------------------------------


def test_a_trail_of_the_previous_release_is_complete() -> None:
    verdict = verify(*trail(previous()).read())
    assert not verdict.fault and not verdict.notes and len(verdict.entries) == COUNT
    assert [entry.get("part") for entry in verdict.entries[:4]] == [1, 2, 3, None]


def test_one_chain_goes_through_entries_of_both_releases() -> None:
    hub = previous()
    before, old = copy.deepcopy(hub.found), texts(hub)
    (added,), warnings = trail(hub).append([content(1)])
    assert added["seq"] == COUNT + 1 and not warnings
    assert texts(hub)[:COUNT] == old and not verify(*trail(hub).read()).fault
    assert [name for name in before if hub.found[name] != before[name]] == [NAME, log_name(3)], (
        "full ConfigMaps stay as they are"
    )
    assert set(hub.found) == set(before)
    assert json.loads(hub.found[NAME]["data"]["head.json"]) == {"entries": COUNT + 1, "hash": added["hash"], "log": 3}


def test_an_export_has_the_lines_of_the_previous_release() -> None:
    hub = previous()
    old = [*texts(hub), PREVIOUS["export_ends_with"]]
    assert export(*trail(hub).read()) == old
    assert not verify(*read_export(old, "f")).fault
    anchor = json.loads(old[-1])["hash"]
    trail(hub).append([content(1), content(2)])
    new = export(*trail(hub).read())
    assert new[:COUNT] == old[:-1] and not verify(*read_export(new, "f"), [anchor]).fault
    assert [json.loads(line)["hash"] for line in new[-2:]] == [json.loads(new[-1])["hash"]] * 2, (
        "a line names the hash of its entry"
    )


@each_row("added", [0, 2])
@each_row("number", [1, 2, 3])
def test_a_trail_that_was_truncated_or_altered_is_found(number: int, added: int) -> None:
    hub = previous()
    if added:
        trail(hub).append([content(one) for one in range(added)])
    whole = copy.deepcopy(hub.found)
    lines = whole[log_name(number)]["data"]["log.jsonl"].splitlines(keepends=True)
    for found in (lines[:-1], lines[1:], [lines[0].replace("jane", "joan", 1), *lines[1:]], []):
        hub.found = copy.deepcopy(whole)
        hub.found[log_name(number)]["data"]["log.jsonl"] = "".join(found)
        assert verify(*trail(hub).read()).fault
    hub.found = copy.deepcopy(whole)
    del hub.found[log_name(number)]
    assert "missing" in verify(*trail(hub).read()).fault


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_a_new_trail() -> None:
    hub = Hub()
    done, warnings = trail(hub).append([content(1), content(2)])
    assert [entry["seq"] for entry in done] == [1, 2] and done[0]["prev"] == START and not warnings
    verdict = verify(*trail(hub).read())
    assert verdict.entries == done and not verdict.fault and not verdict.notes


def test_config_maps_are_filled_and_never_too_large() -> None:
    hub = Hub()
    sizes = [10, audit_notes.LIMIT, 3, audit_notes.LIMIT, audit_notes.LIMIT, 70_000, 1, audit_notes.LIMIT] * 3
    trail(hub).append([content(number, size) for number, size in enumerate(sizes)])
    logs = [item for name, item in hub.found.items() if name != NAME]
    lengths = [len(item["data"]["log.jsonl"]) for item in logs]
    assert len(logs) > 3 and max(lengths) < MIB / 2 and min(lengths[:-1]) >= FULL
    assert [item.get("immutable", False) for item in logs] == [length >= FULL for length in lengths]
    verdict = verify(*trail(hub).read())
    assert not verdict.fault and len(verdict.entries) == len(sizes)


def test_two_writers_at_once_make_one_chain() -> None:
    """Each reads before the other one writes; who is refused reads again."""
    hub = Hub()
    trail(hub).append([content(1)])
    hub.before_write = lambda: trail(hub).append([content(2)])
    (mine,), _warnings = trail(hub).append([content(3)])
    assert hub.conflicts == 1 and mine["seq"] == 3
    verdict = verify(*trail(hub).read())
    assert (
        not verdict.fault
        and not verdict.notes
        and [entry["id"] for entry in verdict.entries] == ["000001", "000002", "000003"]
    )


def test_many_writers_make_one_chain() -> None:
    hub = Hub()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda number: trail(hub).append([content(number, 90_000)]), range(9)))
    verdict = verify(*trail(hub).read())
    assert not verdict.fault and not verdict.notes
    assert sorted(entry["id"] for entry in verdict.entries) == [content(number)["id"] for number in range(9)]


def test_an_entry_is_added_once() -> None:
    hub = Hub()
    parts = [{**content(1), "part": part, "parts": 2} for part in (1, 2)]
    trail(hub).append(parts[:1])
    done, _warnings = trail(hub).append([*parts, content(2)])
    assert [(entry["id"], entry.get("part"), entry["seq"]) for entry in done] == [
        ("000001", 1, 1),
        ("000001", 2, 2),
        ("000002", None, 3),
    ]
    assert len(texts(hub)) == 3


def test_an_entry_whose_write_had_no_answer_is_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configmaps, "_AGAIN", 0)
    hub = Hub()

    def lose() -> None:
        error = Unreachable("no answer")
        error.unsure = True
        raise error

    hub.after_write = lose
    (entry,), _warnings = trail(hub).append([content(1)])
    verdict = verify(*trail(hub).read())
    assert verdict.entries == [entry] and not verdict.notes


def test_a_writer_that_was_killed_before_the_head_record() -> None:
    hub = Hub()
    trail(hub).append([content(1)])
    head = copy.deepcopy(hub.found[NAME])
    trail(hub).append([content(2)])
    hub.found[NAME] = head
    assert "the head record names 1 of 2 entries" in verify(*trail(hub).read()).notes[0]
    _done, warnings = trail(hub).append([content(3)])
    verdict = verify(*trail(hub).read())
    assert not warnings and not verdict.fault and not verdict.notes and len(verdict.entries) == 3


def test_a_slow_writer_does_not_set_the_head_record_back() -> None:
    hub = Hub()
    trail(hub).append([content(1)])
    hub.after_write = lambda: trail(hub).append([content(3)])  # between the entry and the head record of the other one
    (slow,), _warnings = trail(hub).append([content(2)])
    _lines, head = trail(hub).read()
    assert slow["seq"] == 2 and head is not None and head.entries == 3


def test_entries_of_a_writer_that_was_killed_are_added_once() -> None:
    """They are in several ConfigMaps, and the next run has all of them again."""
    hub = Hub()
    trail(hub).append([content(0)])
    head = copy.deepcopy(hub.found[NAME])
    contents = [content(number, audit_notes.LIMIT) for number in range(1, 6)]
    trail(hub).append(contents)
    hub.found[NAME] = head
    assert log_name(3) in hub.found
    trail(hub).append(contents)
    verdict = verify(*trail(hub).read())
    assert not verdict.fault and not verdict.notes and len(verdict.entries) == 6


def test_a_namespace_that_is_not_there() -> None:
    hub = Hub(status=404)
    hub.word = "sites"
    with pytest.raises(Exception, match="deploy the hub first, or correct flower_namespace") as failure:
        trail(hub).append([content(1)])
    assert isinstance(failure.value.__cause__, NotFound)


# ---- where a trail continues -----------------------------------------------------------------------------------------


def chained(count: int) -> list[Entry]:
    entries: list[Entry] = []
    for number in range(1, count + 1):
        entries.append(seal(content(number), head_of(entries[-1]) if entries else Head()))
    return entries


def end(entries: list[Entry], head: Head | None) -> tuple[Head, str]:
    return continuation([canonical(entry) for entry in entries], head)


def test_a_break_remains_visible() -> None:
    entries = chained(5)
    head = head_of(entries[4])
    forged = seal(content(9), head_of(entries[3]))
    for found in (entries[:3], [], [*entries[:4], forged]):
        last, wrong = end(found, head)
        assert last == head and "does not end with the entry 5" in wrong
        new = seal(content(10), last)
        assert verify([*(Line(canonical(entry), "") for entry in [*found, new])], head_of(new)).fault
    assert continuation([canonical(entry) for entry in entries[:4]] + ["rubbish"], head)[0] == head


def test_a_break_is_reported_when_an_entry_is_added() -> None:
    hub = Hub()
    trail(hub).append([content(1), content(2)])
    item = hub.found[log_name(1)]
    item["data"]["log.jsonl"] = item["data"]["log.jsonl"].splitlines(keepends=True)[0]
    _done, (warning,) = trail(hub).append([content(3), content(4)])
    assert warning.startswith("audit trail flower/flower-audit on hub: it does not end with the entry 2")
    assert "entry 2 is missing" in verify(*trail(hub).read()).fault
