# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""drill.yml: what it refuses, which SuperNodes count, what undoes it, and what becomes of the measurement."""

from __future__ import annotations

import json
import re
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import sites_with
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

(PLAY,) = [play for play in yaml_file("playbooks", "drill.yml") if "tasks" in play]
TASKS = yaml_file("playbooks", "tasks", "drill.yml")
HOSTVARS = {name: {"inventory_hostname": name, **more} for name, more in {
    "site-a": {"flower_delivery": "ocm"}, "site-b": {}, "site-c": {"flower_delivery": "direct"}, "site-d": {},
}.items()}  # fmt: skip


def key(node: str, name: str = "3") -> dict[str, Any]:
    return {"node_id": node, "pool": "cpu", "name": name, "fingerprint": "SHA256:x", "dead": False, "leaving": False}


HUB: dict[str, Any] = {
    "federation": "demo",
    "nodes": {node: {"status": "offline" if node == "3" else "online", "online-at": "t1"} for node in "12345"},
    "sites": {
        "site-a": {"access": {}, "keys": [key("1")]},
        "site-b": {"access": {}, "keys": [key("3"), key("2", "node-7"), key("5")]},
        "site-c": {"access": {"since": "today"}, "keys": [key("4")]},
        "gone": {"access": {}, "keys": [key("9")]},
    },
    "runs": [{"run-id": "7", "status": "finished:completed"}],
}


def evaluated(text: str, **given: Any) -> Any:
    """An expression with the variables of the play."""
    groups = {"flower_hub": ["hub"], "flower_sites": [*HOSTVARS]}
    variables = {"inventory_hostname": "hub", "groups": groups, "hostvars": HOSTVARS, "__drill_hub": HUB, **trusted(PLAY["vars"])}
    variables |= {"__drill_direct": sites_with(HOSTVARS, HOSTVARS, delivery="direct"), **given}  # lookups of collections are not loaded here
    return Templar(loader=DataLoader(), variables=variables).template(trusted(text))


def test_what_is_broken_by_default() -> None:
    places = evaluated("{{ __drill_places }}")
    assert places == {"superlink_killed": "hub", "supernode_killed": "site-b", "site_cut": "site-a"}
    assert [pair[1]["node_id"] for pair in evaluated("{{ __drill_pairs }}")] == ["1", "2", "5"]
    assert [pair[1]["node_id"] for pair in evaluated("{{ __drill_pods }}")] == ["5"]
    given = {"flower_drill": "site_cut, superlink_killed", "flower_drill_targets": {"site_cut": 45}}
    lines = evaluated("{{ __drill_names | map('extract', __drill_lines) | list }}", **given)
    assert [line.partition(":")[0] for line in lines] == ["site_cut at site-a", "superlink_killed at hub"]
    assert lines[0].endswith("target 45 s") and lines[1].endswith("target 90 s")


@each_row(
    ("given", "words"),
    [
        ({"flower_drill": ["superlink_killed", "supernode_killed", "site_cut"]}, []),
        ({"flower_drill": "site_cut", "__drill_hub": {**HUB, "runs": [{"run-id": "8", "status": "running"}]}}, ["run 8 is active"]),
        ({"flower_drill": "superlink_killed", "__drill_hub": {**HUB, "nodes": {}}}, ["no SuperNode is online"]),
        ({"flower_drill": "site_cut", "flower_drill_site": "site-c"}, ["site_cut: no SuperNode of site-c is online and admitted"]),
        ({"flower_drill": "supernode_killed", "flower_drill_site": "site-a"}, ["supernode_killed: no SuperNode of site-a"]),
        ({"flower_drill": "superlink_killed", "flower_drill_site": "site-c"}, []),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: list[str]) -> None:
    found = evaluated("{{ __drill_refused }}", **given)
    assert len(found) == len(words) and all(word in text for word, text in zip(words, found))


@each_row(
    ("given", "good"),
    [
        ({"flower_drill": "site_cut"}, True),
        ({}, False),
        ({"flower_drill": "site_cut,site_cut"}, False),
        ({"flower_drill": "hub_lost"}, False),
        ({"flower_drill": "site_cut", "flower_drill_targets": {"site_cut": "45"}}, True),
        ({"flower_drill": "site_cut", "flower_drill_targets": {"site_cut": 0}}, False),
        ({"flower_drill": "site_cut", "flower_drill_targets": {"other": 45}}, False),
    ],
)
def test_names_and_targets(given: dict[str, Any], good: bool) -> None:
    (check,) = [task for task in PLAY["tasks"] if task["name"] == "Check the variables"]
    asked = check["ansible.builtin.assert"]
    assert all(evaluated(f"{{{{ ({one}) | bool }}}}", **given) for one in asked["that"]) == good
    assert ("federated.flower.failover" in evaluated(asked["fail_msg"], **given)) == (given.get("flower_drill") == "hub_lost")


@each_row(
    ("given", "result", "note"),
    [
        ({}, "met", "cut off for 75 s"),
        ({"__drill_took": "60.1"}, "missed", "cut off for 75 s"),
        ({"__drill_took": ""}, "missed", "cut off for 75 s"),
        ({"__drill_away": [], "__drill_took": ""}, "no effect", "cut off for 75 s"),
        ({"__drill_error": "it failed"}, "failed", "it failed"),
        ({"__drill_run": {"run_id": "9"}, "__drill_ended": {"status": "finished:completed"}}, "met", "cut off for 75 s; run 9: finished:completed"),
        ({"__drill_run": {"run_id": "9"}, "__drill_ended": {}}, "failed", "cut off for 75 s; run 9: not finished"),
    ],
)
def test_the_verdict(given: dict[str, Any], result: str, note: str) -> None:
    measured = {
        "__drill": "site_cut", "__drill_at": "site-a", "__drill_nodes": ["1", "2"], "__drill_away": ["1", "2"], "__drill_took": "12.5",
        "__drill_note": "cut off for 75 s", "__drill_error": "", "__drill_run": {"skipped": True}, "__drill_ended": {"skipped": True}, **given,
    }  # fmt: skip
    last = TASKS[-1]
    (row,) = evaluated(last["ansible.builtin.set_fact"]["__drill_rows"], **trusted(last["vars"]), **measured)
    seconds = float(measured["__drill_took"]) if measured["__drill_took"] else None
    run = {"id": "9", "status": measured["__drill_ended"].get("status", "not finished")} if "run_id" in measured["__drill_run"] else {}
    assert row["row"] == {
        "drill": "site_cut", "at": "site-a", "of": 2, "affected": len(measured["__drill_away"]), "seconds": seconds, "target": 60, "result": result,
        "note": note, "run": run,
    }  # fmt: skip
    assert row["text"].startswith(f"site_cut at site-a: {result}; ") and note in row["text"]


def test_what_is_broken_is_undone_and_nothing_is_broken_in_check_mode() -> None:
    (block,) = [task for task in TASKS if "block" in task]
    denies, admits = (
        [task for part in parts for task in part.get("block", [part]) if task.get("federated.flower.site_access", {}).get("state") == state]
        for parts, state in ((block["block"], "denied"), (block["always"], "admitted"))
    )
    assert len(denies) == len(admits) == 1 and admits[0]["when"] == "__drill == 'site_cut'"
    holders = {task["federated.flower.site_access"]["holder"] for task in (*denies, *admits, PLAY["tasks"][0])}
    assert holders == {"{{ __drill_holder }}"}, "the next run undoes what an interrupted one denied"
    (conduct,) = [task for task in PLAY["tasks"] if "ansible.builtin.include_tasks" in task]
    assert conduct["when"] == "not ansible_check_mode"
    before = json.dumps(PLAY["tasks"][: PLAY["tasks"].index(conduct)])
    assert "federated.flower.apply" not in before and '"state": "denied"' in before
    assert all(task.get("check_mode") for task in PLAY["tasks"] if task.get("federated.flower.site_access", {}).get("state") == "denied")


@each_row(
    ("back", "error", "note"),
    [
        ({"failed": True, "msg": "tried 76 times", "error": ""}, "", "cut off for 75 s; not back after 300 s"),
        ({"failed": True, "msg": "the hub does not answer", "error": "x"}, "drill | Wait for the end of the run: it failed", "cut off for 75 s"),
        ({"failed": True, "msg": "the lease is lost"}, "drill | Wait for the end of the run: it failed", "cut off for 75 s"),
        ({"failed": False}, "drill | Wait for the end of the run: it failed", "cut off for 75 s"),
        ({}, "drill | Wait for the end of the run: it failed", "cut off for 75 s"),
    ],
)
def test_a_recovery_that_takes_too_long_is_no_error(back: dict[str, Any], error: str, note: str) -> None:
    (block,) = [task for task in TASKS if "block" in task]
    (wait,) = [task for task in block["block"] if task.get("until", "").startswith("__drill_back.error == ''")]
    assert wait["register"] == "__drill_back"
    assert TASKS[2]["ansible.builtin.set_fact"]["__drill_back"] == {}, "that of the drill before does not count"
    (record,) = block["rescue"]
    failed = {"ansible_failed_task": {"name": "drill | Wait for the end of the run"}, "ansible_failed_result": {"msg": "it failed"}}
    facts = {**failed, **trusted(record["vars"]), "__drill_back": back, "__drill_note": "cut off for 75 s"}
    found = {name: evaluated(text, **facts) for name, text in record["ansible.builtin.set_fact"].items()}
    assert found == {"__drill_error": error, "__drill_note": note}


_COMPARED = re.compile(r"ansible_failed_task\.name\s*(?:[!=]=|is\b|in\b|not\b)\s*['\"]?([^'\"}]*)|['\"]([^'\"}]*)['\"]\s*[!=]=\s*ansible_failed_task\.name")


def test_no_task_is_found_by_a_name_that_it_does_not_have() -> None:
    """A task that is renamed would not be found any more: C(register) finds it by any name."""
    files = sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/**/*.yml")])
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    names = {name.strip("'\"") for text in texts.values() for name in re.findall(r"^\s*- name: (.+)$", text, re.MULTILINE)}
    compared = {(path.name, one or other) for path, text in texts.items() for one, other in _COMPARED.findall(text)}
    assert [found for found in compared if found[1] not in names] == []
