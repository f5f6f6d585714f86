# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This collection under the settings of other people's ansible.cfg, and with parts of a playbook left out.

C(HONOURED), C(WITHOUT_EFFECT) and C(REFUSED) are the table of the guide.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.tests.unit import read
from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.read import PLAYBOOKS
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import MODULES, READING, ROLES, WITHOUT_LEASE

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/docsite/rst/guide_settings.rst"
PLAYS = [(name, one) for name in PLAYBOOKS for one in read.playbook(name) if "hosts" in one]

#: Settings that plays or tasks of this collection override: section, setting, values.
WITHOUT_EFFECT = [
    ("defaults", "strategy", ["free"]),
    ("defaults", "any_errors_fatal", ["true"]),
    ("defaults", "gathering", ["implicit"]),
    ("defaults", "task_timeout", ["1"]),
    ("privilege_escalation", "become", ["true"]),
]
#: Settings that apply as Ansible documents them.
HONOURED = [
    ("defaults", "forks", ["1"]),
    ("defaults", "hash_behaviour", ["merge"]),
    ("defaults", "private_role_vars", ["true"]),
    ("defaults", "force_handlers", ["true"]),
    ("defaults", "host_pattern_mismatch", ["error"]),
    ("defaults", "duplicate_dict_key", ["error"]),
    ("defaults", "inject_facts_as_vars", ["false"]),
    ("defaults", "fact_caching", ["memory"]),
    ("defaults", "no_log", ["false"]),
    ("defaults", "display_skipped_hosts", ["false"]),
    ("defaults", "display_args_to_stdout", ["true"]),
    ("defaults", "callback_result_format", ["yaml"]),
    ("connection", "pipelining", ["true"]),
    ("diff", "always", ["true"]),
]
#: What ends a run before anything is changed: section, setting, value, words of the message.
REFUSED = [("tags", "skip", "always,preflight", "--skip-tags always skips checks that precede every change")]


def merged(settings: list[tuple[str, str, str]]) -> str:
    sections = dict.fromkeys(section for section, _name, _value in settings)
    return "".join(f"[{one}]\n" + "".join(f"{name} = {value}\n" for section, name, value in settings if section == one) for one in sections)


# ---- what plays say ----------------------------------------------------------------------------------------------------


@each_row(("name", "one"), PLAYS)
def test_a_play_states_what_an_ansible_cfg_can_turn(name: str, one: dict[str, Any]) -> None:
    assert one["strategy"] == "ansible.builtin.linear"
    assert one["gather_facts"] is one["become"] is False and one["timeout"] == 0
    assert one["any_errors_fatal"] in (True, False)


#: They need no lease (see test_collection), or take it for each copy.
FREE = {*WITHOUT_LEASE, "Follow the hub"}


#: Conditions under which plays change something.
SOMETIMES = (
    "{{ __reconcile_wanted != 'report' }}",
    "{{ __maintenance_mode != 'report' }}",
    "{{ __plan_state == 'compared' }}",
    "{{ flower_schedule | default('', true) | string | length > 0 }}",
)


def changes(name: str, one: dict[str, Any]) -> bool:
    """Whether a play has a module or role that changes the fleet, and does not only check or describe it."""
    if name.endswith("_check.yml") or one["name"] in ("Describe the hub", "Ask for confirmation"):
        return False
    used = set(re.findall(r"'federated\.flower\.(\w+)", str(one))) & {*MODULES, *ROLES}
    return bool(used - READING)


@each_row(("name", "one"), PLAYS)
def test_a_play_that_changes_something_needs_the_lease(name: str, one: dict[str, Any]) -> None:
    needed = one.get("vars", {}).get("__lease_needed", False)
    if changes(name, one) and not {name, one["name"]} & FREE:
        assert needed in (True, *SOMETIMES)


class Once(ClusterAction):
    """A task of someone's own playbook."""

    def __init__(self, strategy: str, *, once: bool = True) -> None:
        self._task = SimpleNamespace(run_once=once, get_play=lambda: SimpleNamespace(strategy=strategy))

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@each_row("strategy", ["free", "ansible.builtin.free", "host_pinned", "ansible.builtin.host_pinned", "mitogen_free", "mitogen_host_pinned"])
def test_a_play_of_ones_own_in_which_each_host_goes_alone_is_refused(strategy: str) -> None:
    with pytest.raises(ClusterError, match=f"the strategy {strategy} runs this task for each host"):
        Once(strategy)._refuse_other_strategies()
    Once(strategy, once=False)._refuse_other_strategies()


@each_row("strategy", ["linear", "ansible.builtin.linear", "mitogen_linear", "debug"])
def test_a_play_of_ones_own_that_goes_from_task_to_task_is_not(strategy: str) -> None:
    Once(strategy)._refuse_other_strategies()


# ---- playbooks that run ------------------------------------------------------------------------------------------------

SITES = {
    "site-a": {"flower_auth": {"host": "SERVER/site-a", "api_key": "t"}},
    "site-b": {"flower_auth": {"host": "SERVER/site-b", "api_key": "t"}},
    "site-c": {"supernode_wait_timeout": "5m"},
}
HUB = {"flower_auth": {"host": "SERVER/hub", "api_key": "t"}, "superlink_address": "hub.example.com:9092"}


class Outcome:
    """What a run did."""

    def __init__(self, done: Any, seen: list[dict[str, str]]) -> None:
        self.text, self.rc = done.stdout, done.returncode
        self.words = " ".join(self.text.split())
        self.recap = sorted(re.findall(r"^\S+ +: ok=.*", self.text, re.MULTILINE))
        self.requests = sorted((one["method"], one["path"].partition("?")[0]) for one in seen)
        self.written = [one for one in self.requests if one[0] != "GET" and "selfsubject" not in one[1]]


def run(folder: Path, playbook: str, *options: str, config: str = "", hub: dict[str, Any] | None = None) -> Outcome:
    with api_server() as (address, seen):
        text = str(inventory(hub or HUB, SITES)).replace("SERVER", address)
        return Outcome(play(written(folder, text), playbook, *options, config=config), seen)


PREFLIGHT = ("site", "--tags", "preflight", "--limit", "flower_sites")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """With no setting."""
    found = run(tmp_path_factory.mktemp("usual"), *PREFLIGHT)
    assert found.rc == 2 and len(found.recap) == 3 and "supernode_wait_timeout" in found.words and found.requests
    return found


def each(settings: list[tuple[str, str, list[str]]]) -> list[tuple[str, str, str]]:
    return [(section, name, value) for section, name, values in settings for value in values]


# Settings of what is shown, of modules and of the inventory do not meet: one run has them all.
GROUPS = [[one] for one in each(WITHOUT_EFFECT)] + [each(HONOURED)]


@pytest.mark.parametrize("settings", GROUPS, ids=lambda group: "-".join(group[0][1:]) if len(group) == 1 else "all that are honoured")
@pytest.mark.playbook
def test_the_checks_are_the_same_under(settings: list[tuple[str, str, str]], usual: Outcome, tmp_path: Path) -> None:
    found = run(tmp_path, *PREFLIGHT, config=merged(settings))
    assert (found.rc, found.requests) == (usual.rc, usual.requests), found.text
    assert found.recap == usual.recap


START = "--start-at-task"


@pytest.mark.parametrize(
    ("playbook", "options", "words"),
    [
        ("site", [START, "Deploy the SuperNodes"], "--start-at-task skips checks that precede every change"),
        ("teardown", [START, "Remove the SuperNodes", "-e", "flower_teardown=true"], "--start-at-task skips checks"),
    ],
)
@pytest.mark.playbook
def test_nothing_is_changed_where_the_lease_or_the_checks_are_left_out(playbook: str, options: list[str], words: str, tmp_path: Path) -> None:
    found = run(tmp_path, playbook, "--limit", "flower_sites", *options)
    assert found.rc != 0 and words in found.words, found.text
    assert found.written == []


@pytest.mark.parametrize(("section", "name", "value", "words"), REFUSED)
@pytest.mark.playbook
def test_a_setting_is_refused(section: str, name: str, value: str, words: str, tmp_path: Path) -> None:
    found = run(tmp_path, "site", "--limit", "flower_sites", config=merged([(section, name, value)]))
    assert found.rc != 0 and words in found.words and found.written == []


@pytest.mark.parametrize("playbook", ["site", "teardown"])
@pytest.mark.playbook
def test_a_hub_that_does_not_answer_is_given_up_by_a_teardown_only(playbook: str, tmp_path: Path) -> None:
    hub = {**HUB, "flower_auth": {"host": "http://127.0.0.1:1", "api_key": "t"}}
    found = run(tmp_path, playbook, "--tags", "all", "--skip-tags", "preflight", "--limit", "flower_sites", "-e", "flower_teardown=true", hub=hub)
    assert found.rc != 0 and "The lease of the fleet cannot be taken, so nothing was changed." in found.words
    assert ("flower_claim_sites=true removes sites without it" in found.words) is (playbook == "teardown")
    assert ("Run the playbook again when the hub answers." in found.words) is (playbook == "site")


@pytest.mark.playbook
def test_a_variable_of_the_hub_that_cannot_be_read_is_named_in_a_line(tmp_path: Path) -> None:
    """Of which type others are: tests of the specification that is given."""
    found = run(tmp_path, "site", "--tags", "preflight", hub={**HUB, "superlink_gateway_source_rate": "10/s", "skupper_site_wait_timeout": "5m"})
    assert found.rc != 0 and found.requests == []
    assert all(word in found.words for word in ("hub: superlink_gateway_source_rate: '10/s'", "hub: skupper_site_wait_timeout: '5m'")), found.text
    assert len(found.text) < 4000 and "argument_spec_data" not in found.text


def test_the_guide_has_the_table() -> None:
    guide = GUIDE.read_text()
    for section, name, *_more in [*WITHOUT_EFFECT, *HONOURED, *REFUSED]:
        assert f"``{name}``" in guide, f"[{section}] {name}"
