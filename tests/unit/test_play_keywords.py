# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keywords of plays (hosts, serial, …) are evaluated without a host: of the inventory's variables they see only what they read in hostvars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.inventory_checks import inventory_faults
from ansible_collections.federated.flower.plugins.plugin_utils.checks.inventory import group_faults
from ansible_collections.federated.flower.plugins.plugin_utils.checks.play_fleet import Fleet, fleet_faults
from ansible_collections.federated.flower.tests.unit import read
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

ROOT = Path(__file__).parents[2]
# They are evaluated for each task and host.
PER_TASK = {"name", "tasks", "pre_tasks", "post_tasks", "handlers", "roles", "vars", "tags", "module_defaults", "environment", "import_playbook", "when"}
# Only the command line can give them, and the inventory is refused if it has them: check_inventory.yml and the preflight of each host find the
# names of groups; with a plan, nothing is changed before it was compared.
COMMAND_LINE = {"flower_hub_group", "flower_sites_group", "flower_plan", "flower_plan_hash"}
# The first plays of standby.yml and failover.yml check them before there are variables of hosts; the options of modules check them again.
CHECKED_AGAIN = {"flower_standby_follow", "flower_standby_interval"}
GROUPS = {"flower_hub", "flower_sites", "flower_standby"}
NAME = r"\bflower_[a-z0-9_]+\b"


@cache
def imports(of: str) -> list[dict[str, Any]]:
    """The variables that playbooks give to one that they import."""
    plays = [(name, play) for name in read.PLAYBOOKS for play in read.playbook(name) if play.get("import_playbook") == of]
    return [{**{key: value for above in imports(name) for key, value in above.items()}, **play.get("vars", {})} for name, play in plays]


def keywords() -> Iterator[tuple[str, str, str]]:
    """Playbook and play, keyword, and its text with those of the variables that it names."""
    for name in read.PLAYBOOKS:
        for play in read.playbook(name):
            for given in [{}, *imports(name)]:
                known = {key: str(value) for key, value in {**given, **play.get("vars", {})}.items()}
                for keyword in sorted(set(play) - PER_TASK):
                    text, seen = str(play[keyword]), set()
                    while more := [one for one in known if one not in seen and re.search(rf"\b{one}\b", text)]:
                        seen.update(more)
                        text += "".join("\n" + known[one] for one in more)
                    yield f"{name}: {play.get('name')}", keyword, text


def unread(text: str) -> set[str]:
    """Variables that an expression names and does not read with one of the two lookups, which get the name in quotes."""
    read = set(re.findall(rf"'federated\.flower\.(?:fleet_variable', |sites', enabled=)'({NAME})'", text))
    read |= set(re.findall(rf"hostvars[^\n]*\)\.({NAME})", text))
    return set(re.findall(NAME, re.sub(r"'[^']*'|federated\.flower\.\w+", "", text))) - read - GROUPS


def test_keywords_read_variables_of_the_inventory_where_they_see_them() -> None:
    found = {(where, keyword, name) for where, keyword, text in keywords() for name in unread(text) - COMMAND_LINE - CHECKED_AGAIN}
    assert found == set()


HOSTVARS: dict[str, dict[str, Any]] = {"hub": {}, "site-a": {}, "site-b": {}}
SITES = ["site-a", "site-b"]


def fleet(hostvars: dict[str, dict[str, Any]], **own: Any) -> Fleet:
    """A fleet of a hub and two sites."""
    return Fleet({"groups": {"flower_hub": ["hub"], "flower_sites": SITES}, "hostvars": {**HOSTVARS, **hostvars}, **own}, lambda value: value)


@each_row(
    ("where", "value", "given", "made"),
    [
        ("hub", 1, "", 1),
        ("site-a", "25%", "", "25%"),  # of the group of the sites
        ("hub", [1, "50%"], "", [1, "50%"]),
        ("hub", 1, "10", "10"),  # the command line
        ("hub", "", "", "100%"),  # a question without an answer
        ("hub", None, None, "100%"),
        ("hub", 0, "", 0),
    ],
)
def test_a_variable_of_the_fleet(where: str, value: Any, given: Any, made: Any) -> None:
    own = {"flower_serial": given} if given else {}
    assert fleet({where: {"flower_serial": value}}, **own).variable("flower_serial", "100%") == made
    assert Fleet(own, lambda value: value).variable("flower_serial", "100%") in (given, "100%")


@each_row(
    ("hub", "site", "found"),
    [({}, {}, []), ({"x": True}, {}, SITES), ({"x": "true"}, {"x": False}, ["site-b"]), ({}, {"x": "yes"}, ["site-a"]), ({"x": "false"}, {"x": ""}, [])],
)
def test_sites_for_which_a_variable_is_true(hub: dict[str, Any], site: dict[str, Any], found: list[str]) -> None:
    known = fleet({"hub": hub, "site-a": site})
    assert [one for one in known.sites if known.is_enabled("x", one)] == found


def test_groups_have_the_names_that_the_command_line_gives() -> None:
    groups = {"banks": ["bank-a"], "flower_sites": SITES}
    assert Fleet({"groups": groups, "flower_sites_group": "banks"}, lambda value: value).sites == ["bank-a"]
    assert Fleet({"groups": {}}, lambda value: value).sites == []


@each_row("playbook", ["site.yml", "clientapp.yml", "reconcile.yml", "render.yml", "failover.yml"])
def test_the_size_is_checked_before_anything_is_changed(playbook: str) -> None:
    imported = [play.get("import_playbook") for play in yaml_file("playbooks", playbook)]
    checked = imported.index("parts/batch_check.yml")
    changing = ("take_lease.yml", "site_plan_compare.yml", "parts/site_hub.yml", "parts/site_sites.yml", "site.yml")
    assert all(at > checked for at, name in enumerate(imported) if name in changing)


def evaluated(play: dict[str, Any], keyword: str, **given: Any) -> Any:
    """A keyword as Ansible evaluates it. Filters of this collection get plain text instead: their names are not known to the templar alone."""
    return Templar(loader=DataLoader(), variables={**trusted(play["vars"]), **given}).template(trusted(play[keyword]))


@pytest.mark.parametrize("playbook", ["parts/check_inventory.yml", "parts/standby_check.yml"])
def test_an_inventory_is_refused_with_a_limit_as_well(playbook: str) -> None:
    play = yaml_file("playbooks", playbook)[-1]
    (faults,) = play["vars"]
    assert evaluated(play, "hosts", **{faults: []}) == [] == evaluated(play, "hosts", **{faults: []}, ansible_limit="hub")
    assert evaluated(play, "hosts", **{faults: ["x"]}) == ["localhost"]
    assert evaluated(play, "hosts", **{faults: ["x"]}, ansible_limit="hub") == ["all"]  # of the limit, in which localhost is not
    (task,) = play["tasks"]
    assert play["any_errors_fatal"] and task["run_once"]


def test_with_a_limit_only_the_sites_may_be_missing() -> None:
    assert Fleet({"ansible_limit": "hub"}, lambda value: value).limited and not Fleet({}, lambda value: value).limited
    assert group_faults({"flower_hub": ["hub"]}, limited=True) == []
    assert len(group_faults({"flower_hub": ["hub"]})) == len(group_faults({}, limited=True)) == len(group_faults({"flower_hub": ["a", "b"]}, limited=True)) == 1


def test_the_variables_of_hosts_are_known_before_the_check() -> None:
    """Keywords see C(hostvars) once a play has had a host. One of the limit is enough, and without tasks it starts no process."""
    first, _check = yaml_file("playbooks", "parts/check_inventory.yml")
    assert "tasks" not in first and "roles" not in first
    play = {"vars": {}, "hosts": first["hosts"]}
    assert evaluated(play, "hosts", ansible_play_hosts_all=["site-a", "site-b"]) == ["site-a"]
    assert evaluated(play, "hosts", ansible_play_hosts_all=["site-a"], hostvars={}) == []


#: Playbooks that work at the hub alone, or at sites alone: Ansible would end them with success where a limit leaves no host of them.
WORKS_AT = {
    "hub": {
        "acm_policy.yml", "audit.yml", "backup.yml", "connect.yml", "drill.yml", "leaving_statement.yml", "outputs.yml", "restore.yml", "run.yml", "runs.yml",
        "schedule.yml", "site_access.yml", "skupper_revoke.yml",
    },
    "sites": {"clientapp.yml", "join.yml", "takeover.yml"},
}  # fmt: skip
#: They need no fleet: files or single clusters. Or they are imported by people between their own plays.
UNCHECKED = {
    "awx.yml", "convert.yml", "node_facts.yml", "openshift_login.yml", "openshift_logout.yml", "openshift_projects.yml", "rbac.yml", "return_lease.yml",
    "take_lease.yml",
}  # fmt: skip


def test_playbooks_check_the_inventory_first() -> None:
    found: dict[str, set[str]] = {}
    for name in read.PLAYBOOKS:
        if not name.startswith("parts/"):
            # render.yml first looks whether --check is given; failback.yml is a failover.
            checks = [play for play in read.playbook(name)[:2] if play.get("import_playbook") in ("parts/check_inventory.yml", "failover.yml")]
            found.setdefault(checks[0].get("vars", {}).get("__check_needs", "inventory") if checks else "", set()).add(name)
    assert found.pop("") == UNCHECKED
    assert {needs: found[needs] for needs in WORKS_AT} == WORKS_AT and set(found) - set(WORKS_AT) == {"inventory", "joining"}


def test_a_playbook_that_works_at_hosts_of_one_group_says_so() -> None:
    groups = {"{{ flower_hub_group | default('flower_hub') }}": "hub", "{{ flower_sites_group | default('flower_sites') }}": "sites"}
    for name in read.PLAYBOOKS:
        working = {str(play["hosts"]) for play in read.playbook(name) if "hosts" in play}
        if not name.startswith("parts/") and len(working) == 1 and (needs := groups.get(working.pop())) and name not in UNCHECKED:
            assert name in WORKS_AT[needs], name


HUB = {"flower_hub": ["hub"]}
ALL = {**HUB, "flower_sites": SITES}


@each_row(
    ("needs", "groups", "limit", "words"),
    [
        ("hub", ALL, None, ""),
        ("hub", ALL, ["hub"], ""),
        ("hub", HUB, None, ""),  # the inventory of a data scientist
        ("hub", ALL, ["site-a"], "--limit leaves out the hub hub, at which this playbook works: remove --limit, or add hub to it"),
        ("hub", {}, None, "flower_hub has no host"),
        ("hub", {"flower_hub": ["a", "b"]}, None, "flower_hub has 2 hosts"),
        ("sites", ALL, ["site-b"], ""),
        ("sites", ALL, ["hub"], "--limit leaves out all sites, at which this playbook works: remove --limit, or add a site to it"),
        ("sites", HUB, None, "flower_sites has no host"),
        ("inventory", ALL, ["site-a"], ""),
        ("inventory", HUB, None, "flower_sites has no host"),
        ("joining", ALL, None, ""),
    ],
)
def test_a_playbook_has_the_hosts_at_which_it_works(needs: str, groups: dict[str, list[str]], limit: list[str] | None, words: str) -> None:
    limited = {} if limit is None else {"ansible_limit": "x"}
    hosts = [host for group in groups.values() for host in group] if limit is None else limit
    found = fleet_faults(Fleet({"groups": groups, "hostvars": HOSTVARS, "ansible_play_hosts_all": hosts, **limited}, lambda value: value), needs)
    assert [words in one for one in found] == [True] * bool(words), found


MISSPELT = {"flower_run_region": ["eu"], "awx_job_id": 7, "tower_user_name": "x", "ansible_limit_of_mine": 1, "my_pool": 2}


@each_row("needs", ["inventory", "joining", "hub", "sites"])
@each_row(
    ("own", "refused"),
    [({}, True), ({"flower_own_variables": "flower_mine, flower_run_region"}, False), ({"flower_own_variables": ["flower_run_region"]}, False)],
)
def test_a_misspelt_variable_of_the_hub_or_of_the_command_line_is_refused(needs: str, own: dict[str, Any], refused: bool) -> None:
    found = fleet_faults(fleet({"hub": {**MISSPELT, **own}}), needs)
    assert [one.partition(" this collection")[0] for one in found] == ["hub: flower_run_region:"] * refused
    assert all("The most similar one is flower_run_regions." in one for one in found)


def test_names_of_variables_are_not_read_where_there_is_no_hub_or_no_host_yet() -> None:
    other = {host: {"supernode_superlink": {"address": "x:1"}, "flower_rotat": "ca"} for host in SITES}
    alone = Fleet({"groups": {"flower_sites": SITES}, "hostvars": other}, lambda value: value)
    assert fleet_faults(alone, "joining") == [] and "this playbook needs a hub" in fleet_faults(alone, "hub")[0]
    assert fleet_faults(Fleet({"groups": ALL}, lambda value: value), "hub") == []  # where playbooks are only listed


def test_with_a_hub_the_variables_of_sites_are_not_read() -> None:
    class Asked(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            assert name == "hub", "with 1000 sites this takes 2 seconds"
            return super().get(name, default)

    assert fleet_faults(Fleet({"groups": ALL, "hostvars": Asked(HOSTVARS)}, lambda value: value)) == []


def test_names_of_groups_that_only_tasks_see_are_refused() -> None:
    play = yaml_file("playbooks", "parts/check_inventory.yml")[-1]
    message = play["tasks"][0]["ansible.builtin.fail"]["msg"]
    found = Templar(loader=DataLoader(), variables={"__check_faults": []}).template(trusted(message))
    assert "flower_hub_group and flower_sites_group are set in the inventory" in found and "set them with -e" in found


@each_row(
    ("host", "is_site", "name", "group", "refused"),
    [
        ("hub", False, "flower_hub_group", "hubs", True),
        ("hub", False, "flower_hub_group", "mine", False),
        ("site-a", True, "flower_sites_group", "clinics", True),
        ("site-a", True, "flower_sites_group", "flower_sites", False),
    ],
)
def test_a_host_that_is_not_in_the_group_that_its_variable_names(host: str, is_site: bool, name: str, group: str, refused: bool) -> None:
    class Action:
        task_vars: ClassVar[dict[str, Any]] = {
            "groups": {"flower_hub": ["hub"], "flower_sites": ["site-a"], "mine": ["hub"], "hubs": ["other"], "clinics": ["site-b"]}
        }

        @staticmethod
        def variable(asked: str, default: str) -> str:
            return group if asked == name else default

    found = inventory_faults(Action, host, [], [], is_site=is_site)  # type: ignore[arg-type]
    assert [f"{name} is {group}" in one and f"-e {name}={group}" in one for one in found] == [True] * refused


SITES_PLAYS = [play for play in yaml_file("playbooks", "parts/site_sites.yml") if "supernode" in play["tags"]]


@each_row(
    ("given", "hosts"),
    [
        ({}, ["flower_sites", []]),
        ({"__site_chosen": ["b"]}, [["b"], []]),
        ({"__site_kept": ["hub"]}, [[], ["a", "b", "hub"]]),
        ({"__site_kept": ["hub"], "__site_chosen": ["b"]}, [[], ["b", "hub"]]),
        ({"__site_kept": ["hub"], "__site_chosen": []}, [[], []]),  # nothing drifts
    ],
)
def test_a_playbook_that_keeps_the_hub_goes_on_although_every_site_fails(given: dict[str, Any], hosts: list[Any]) -> None:
    groups = {"flower_hub": ["hub"], "flower_sites": ["a", "b"]}
    assert [evaluated(play, "hosts", groups=groups, **given) for play in SITES_PLAYS] == hosts
    plain, keeping = SITES_PLAYS
    assert keeping["tasks"][1:] == plain["tasks"]
    assert keeping["tasks"][0] == {"name": "Skip the hub", "ansible.builtin.meta": "end_host", "when": "inventory_hostname not in __site_deployed"}
    both = {"__site_kept": ["hub"], "groups": {"flower_hub": ["hub"], "flower_sites": ["a", "hub"]}}
    assert evaluated(keeping, "hosts", **both) == ["a", "hub", "hub"], "a hub that is a site as well has SuperNodes"


@each_row("playbook", ["failover.yml", "parts/plan_changes.yml", "reconcile.yml", "render.yml"])
def test_playbooks_with_more_to_do_keep_the_hub(playbook: str) -> None:
    found = [play for play in read.playbook(playbook) if play.get("import_playbook") in ("parts/site_sites.yml", "site.yml")]
    assert found and all("__site_kept" in play["vars"] for play in found)


def test_a_plan_is_made_while_runs_are_active() -> None:
    """The preflight of the hub refuses what would fail them, and warns in check mode."""
    (check,) = [play for play in yaml_file("playbooks", "plan.yml") if play.get("import_playbook") == "parts/site_check.yml"]
    hub, *others = yaml_file("playbooks", "parts/site_check.yml")
    given = {"ansible_check_mode": False, "hosts": "x"}
    assert evaluated({"vars": {}, **hub}, "check_mode", **given, **check["vars"]) is True
    assert evaluated({"vars": {}, **hub}, "check_mode", **given) is False
    assert all("check_mode" not in play for play in others)


def test_the_drift_is_published_before_it_is_repaired() -> None:
    found = yaml_file("playbooks", "reconcile.yml")
    names = [play["name"] for play in found]
    tasks = found[names.index("Show the drift")]["tasks"]
    (published,) = [task for task in tasks if "ansible.builtin.set_stats" in task]
    assert "__reconcile_drift" in published["ansible.builtin.set_stats"]["data"]["flower_reconcile_result"]["drift"]
    assert names.index("Show the drift") < names.index("Repair the hub") < names.index("Repair the sites")
