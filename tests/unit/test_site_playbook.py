# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""site.yml: the order of its plays, and what remains of a run that ends early. ansible-core ends it after a play in which all hosts failed."""

from __future__ import annotations

import json
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit import read
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

SITES = "{{ flower_hub_group | default('flower_hub') }}:{{ flower_sites_group | default('flower_sites') }}"


def plays(playbook: str) -> list[dict[str, Any]]:
    """The plays of a playbook in their order, with those that it imports."""
    found = []
    for play in read.playbook(playbook):
        found += plays(play["import_playbook"]) if "import_playbook" in play else [play]
    return found


def names(playbook: str) -> list[str]:
    return [play["name"] for play in plays(playbook)]


def tasks_of(play: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for task in play["tasks"] for one in task.get("block", [task])]


def test_delivery_to_a_site_ends_before_it_is_forgotten_and_nothing_else_stops_with_that() -> None:
    found = plays("parts/site_whole.yml")
    clean, told = found[0], found[-1]
    assert "cleaned" in json.dumps(yaml_file("roles", "ocm_addon", "tasks", "clean.yml"))
    (block,) = clean["tasks"]
    assert block["block"][0]["ansible.builtin.import_role"] == {"name": "federated.flower.ocm_addon", "tasks_from": "clean"}
    (kept,) = block["rescue"][0]["ansible.builtin.set_fact"]
    (forget,) = [task for play in found for task in tasks_of(play) if "federated.flower.supernode_forget" in task]
    assert any(f"{kept} is not defined" in one for one in forget["when"])
    (report,) = tasks_of(told)
    assert kept in told["vars"]["__site_left"] and report["federated.flower.site_result"]["results"][0]["failed"]


@each_row(
    ("hub", "sites", "runs"),
    [
        ({}, {}, False),
        ({"flower_forget_sites": "site-x"}, {}, True),
        ({"flower_forget_clusters": "c1"}, {}, True),
        ({"flower_forget_sites": True}, {}, True),
        ({}, {"flower_delivery": "ocm"}, True),
    ],
)
def test_leftovers_are_looked_for_wherever_the_variable_stands(hub: dict[str, Any], sites: dict[str, Any], runs: bool) -> None:
    """Variables of groups and hosts are not in those with which the hosts of a play are found, but in C(hostvars)."""
    play = plays("parts/site_whole.yml")[0]
    behind = ["site-a"] if sites.get("flower_delivery") == "ocm" else []  # what a filter of this collection finds
    variables = {"groups": {"flower_hub": ["hub"], "flower_sites": ["site-a"]}, "hostvars": {"hub": hub, "site-a": sites}}
    templar = Templar(loader=DataLoader(), variables={**trusted(play["vars"]), "__site_behind": behind, **variables})
    assert templar.template(trusted(play["hosts"])) == (["hub"] if runs else [])


@each_row(
    ("given", "runs"),
    [
        ({"ansible_run_tags": ["all"]}, True),
        ({"ansible_run_tags": ["ocm", "verify"]}, True),
        ({"ansible_run_tags": ["verify"]}, False),
        ({"ansible_run_tags": ["all"], "ansible_limit": "flower_hub"}, False),
        ({"ansible_run_tags": ["all"], "ansible_limit": "flower_hub", "flower_forget_sites": ""}, False),
        ({"ansible_run_tags": ["all"], "ansible_limit": "flower_hub", "flower_forget_sites": "site-b"}, True),
        ({"ansible_run_tags": ["verify"], "flower_forget_sites": ["site-b"]}, True),
        ({"ansible_run_tags": ["verify"], "flower_forget_sites": True}, True),
        ({"ansible_run_tags": ["all"], "ansible_limit": "flower_hub", "flower_forget_clusters": "c1"}, True),
        ({"ansible_run_tags": ["all"], "flower_forget_sites": "site-b", "flower_plan": "p.json"}, False),
    ],
)
def test_the_delivery_to_what_is_forgotten_ends_with_any_limit_and_tags(given: dict[str, Any], runs: bool) -> None:
    play = plays("parts/site_whole.yml")[0]
    (forget,) = [task for one in plays("parts/site_whole.yml") for task in tasks_of(one) if "federated.flower.supernode_forget" in task]
    assert set(forget["tags"]) <= set(play["tags"])
    templar = Templar(loader=DataLoader(), variables=trusted(play["vars"]) | given)
    whens = play["tasks"][0]["block"][0]["when"]
    assert all(templar.template(trusted(f"{{{{ ({one}) | bool }}}}")) for one in whens) == runs


@each_row("playbook", ["parts/site_whole.yml", "parts/site_check.yml"])
@each_row(("hosts", "left_out"), [(["hub", "site-a"], False), (["site-a"], True)])
def test_what_ends_no_delivery_because_the_limit_leaves_out_the_hub_says_so(playbook: str, hosts: list[str], left_out: bool) -> None:
    (forget,) = [task for play in plays(playbook) for task in tasks_of(play) if "federated.flower.supernode_forget" in task]
    templar = Templar(loader=DataLoader(), variables={"groups": {"flower_hub": ["hub"]}, "ansible_play_hosts_all": hosts})
    assert templar.template(trusted(forget["federated.flower.supernode_forget"]["hub_left_out"])) is left_out


def test_what_is_to_be_forgotten_is_checked_with_any_limit() -> None:
    (check,) = [play for play in plays("parts/site_check.yml") if "federated.flower.supernode_forget" in json.dumps(play)]
    # Not decided in `hosts`, which do not see what the inventory says of hosts and groups.
    assert check["hosts"] == SITES and check["tasks"][0]["when"] == "flower_forget_sites is defined" and check["any_errors_fatal"]


DENIED = {"__join_site": "site-a", "since": "2026-11-26T10:00:00+00:00"}
REFUSED = {"__join_site": "site-b", "failed": False, "msg": "site-a: site-b has no client certificate"}


@each_row(
    ("hub", "own", "denies"),
    [
        ({}, {}, False),
        ({"flower_join_deny": True}, {}, True),
        ({}, {"flower_join_deny": "true"}, True),
        ({"flower_join_deny": True}, {"flower_join_deny": False}, False),
    ],
)
def test_the_hub_can_say_that_a_site_is_denied(hub: dict[str, Any], own: dict[str, Any], denies: bool) -> None:
    (play,) = plays("parts/site_join.yml")
    given = {"groups": {"flower_hub": ["hub"]}, "hostvars": {"hub": hub, "site-a": own}, **own}
    assert Templar(loader=DataLoader(), variables={**trusted(play["vars"]), **given}).template(trusted("{{ __join_denies | bool }}")) is denies


@each_row(
    ("site", "denies", "words"),
    [
        ("site-a", True, "site-a has not passed its acceptance, and is denied access: slow. Correct it, admit it with"),
        ("site-b", True, "run federated.flower.site again. It could not be denied access: site-b has no client certificate"),
        ("site-b", False, "site-b has not passed its acceptance: slow. Correct it, and run federated.flower.site again."),
    ],
)
def test_a_denial_that_is_refused_is_a_fault_of_its_site_alone(site: str, denies: bool, words: str) -> None:
    (play,) = plays("parts/site_join.yml")
    _measure, deny, report = play["tasks"]
    assert deny["failed_when"] is False and deny["register"] == "__join_denied"
    refused = {"accepted": False, "reasons": ["slow"]}
    given = {
        "__join": {"sites": {"site-a": refused, "site-b": refused}},
        "__join_denied": {"results": [DENIED, REFUSED] if denies else []},
        "flower_join_deny": denies,
        "inventory_hostname": site,
    }
    templar = Templar(loader=DataLoader(), variables={**trusted(play["vars"]), **given})
    found = templar.template(trusted(report["federated.flower.site_result"]["results"]))
    assert found[0]["failed"] is True and words in found[0]["msg"]


@each_row(
    ("drift", "left", "shown"),
    [
        ([], [], ["the clusters match the inventory"]),
        ([], ["site-b"], ["site-b: it could not be compared, see above"]),
        ([{"text": "hub: x"}], ["site-b"], ["hub: x", "site-b: it could not be compared, see above"]),
    ],
)
def test_reconcile_does_not_call_clusters_right_that_it_could_not_compare(drift: list[Any], left: list[str], shown: list[str]) -> None:
    (play,) = [one for one in plays("reconcile.yml") if one["name"] == "Show the drift"]
    kept = play["tasks"][0]["ansible.builtin.set_fact"]["__reconcile_left"]
    told = play["tasks"][1]["ansible.builtin.debug"]["msg"]
    hosts = {"ansible_play_hosts_all": ["hub", "site-a", *left], "ansible_play_hosts": ["hub", "site-a"]}
    templar = Templar(DataLoader(), {**hosts, "__reconcile_drift": drift})
    templar.available_variables["__reconcile_left"] = templar.template(trusted(kept))
    assert templar.template(trusted(told)) == shown


@each_row(
    ("given", "wanted", "good"),
    [
        ({}, False, True),
        ({"flower_plan": "plan.txt"}, True, True),
        ({"flower_plan_hash": "5f0c", "flower_forget_sites": ""}, True, True),
        ({"flower_plan": "plan.txt", "flower_forget_sites": ["site-b"]}, True, False),
        ({"flower_plan": "plan.txt", "flower_forget_clusters": "c1"}, True, False),
    ],
)
def test_a_plan_is_compared_and_forgets_no_site(given: dict[str, Any], wanted: bool, good: bool) -> None:
    (compare,) = [play for play in yaml_file("playbooks", "site.yml") if play.get("import_playbook") == "parts/plan_changes.yml"]
    play = yaml_file("playbooks", "parts/plan_changes.yml")[-1]
    templar = Templar(loader=DataLoader(), variables={**trusted(compare["vars"]), **trusted(play["vars"]), **given})
    assert templar.template(trusted(play["hosts"])) == ("flower_hub:flower_sites" if wanted else [])
    assert templar.template(trusted(f"{{{{ ({play['tasks'][0]['ansible.builtin.assert']['that']}) | bool }}}}")) is good
    assert play["any_errors_fatal"] and templar.template(trusted(play["vars"]["__lease_needed"])) is True
