# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""teardown.yml keeps the hub while the ledger has sites that need it: of another inventory, or outside of the limit."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

PLAYS = {play["name"]: play for play in yaml_file("playbooks", "teardown.yml") if "hosts" in play}
FORGET, ASSERT = "federated.flower.supernode_forget", "ansible.builtin.assert"


def tasks(play: str) -> dict[str, dict[str, Any]]:
    return {task["name"]: task for one in PLAYS[play]["tasks"] for task in one.get("block", [one])}


def evaluated(play: str, text: Any, **given: Any) -> Any:
    variables = {"groups": {"flower_hub": ["hub"], "flower_sites": ["site-a"]}, "ansible_play_hosts_all": ["hub", "site-a"], **given}
    return Templar(loader=DataLoader(), variables={**trusted(PLAYS[play].get("vars", {})), **variables}).template(trusted(text))


@pytest.mark.parametrize("others", [[], ["site-b", "site-c"]])
def test_other_sites_are_named_before_it_is_confirmed_and_refuse_it_afterwards(others: list[str]) -> None:
    play, found = "Ask for confirmation", tasks("Ask for confirmation")
    known = {"__teardown_known": {"others": others}}
    finding, confirm, refuse = found.values()
    assert finding[FORGET]["removed"] == "{{ ansible_play_hosts_all }}" and finding[FORGET]["validate"], "a lost hub is asked again further below"
    words = evaluated(play, confirm[ASSERT]["fail_msg"], **known)
    assert "This removes hub, site-a from the federation." in words
    assert ("not removed and need it: site-b, site-c." in words) == bool(others)
    assert evaluated(play, f"{{{{ {refuse[ASSERT]['that']} }}}}", **known) is not bool(others)
    assert PLAYS[play]["any_errors_fatal"], "nothing is removed"
    if others:
        words = evaluated(play, refuse[ASSERT]["fail_msg"], **known)
        assert "does not remove: site-b, site-c." in words and "add to the teardown -e flower_forget_sites=site-b,site-c" in words


@pytest.mark.parametrize(("hosts", "asks"), [(["hub"], True), (["site-a"], False)])
def test_only_a_run_that_removes_the_hub_asks_it(hosts: list[str], asks: bool) -> None:
    finding = tasks("Ask for confirmation")["Find other sites of the hub"]
    assert evaluated("Ask for confirmation", f"{{{{ {finding['when']} }}}}", ansible_play_hosts_all=hosts) is asks


@each_row(("given", "named"), [({}, []), ({"flower_forget_sites": "site-b"}, "site-b"), ({"flower_forget_sites": ""}, "")])
def test_named_sites_may_lose_their_hub(given: dict[str, Any], named: Any) -> None:
    for play in ("Ask for confirmation", "Keep the hub while sites remain"):
        assert evaluated(play, tasks(play)["Find other sites of the hub"][FORGET]["sites"], **given) == named


def test_it_is_looked_again_under_the_lease_before_anything_of_the_hub_goes() -> None:
    names = list(PLAYS)
    play = "Keep the hub while sites remain"
    assert names.index("Remove the sites") < names.index(play) < names.index("Remove the Open Cluster Management add-on")
    left, finding, keep = tasks(play).values()
    assert "__teardown_left" in left[ASSERT]["that"] and "validate" not in finding[FORGET]
    # In check mode the ledger still has the sites of this run.
    assert finding[FORGET]["removed"] == "{{ __teardown_hosts | default([]) }}"
    (note,) = tasks("List the remaining sites").values()
    assert note["ansible.builtin.set_fact"]["__teardown_hosts"] == "{{ ansible_play_hosts_all }}"
    for others in ([], ["site-b"]):
        given = {**keep["vars"], "__teardown_known": {"others": others}}
        assert evaluated(play, f"{{{{ {keep[ASSERT]['that']} }}}}", **trusted(given)) is not bool(others)


@each_row(("hosts", "asked"), [(["hub", "site-a"], True), (["hub"], True), (["site-a"], False), (["site-a", "site-b"], False)])
def test_volumes_of_the_hub_are_offered_with_the_hub_only(hosts: list[str], asked: bool) -> None:
    text = tasks("Ask for confirmation")["Check that the teardown is confirmed"][ASSERT]["fail_msg"]
    words = evaluated("Ask for confirmation", text, ansible_play_hosts_all=hosts)
    assert ("flower_delete_volumes=true" in words) is asked and ("The hub and its volumes stay." in words) is not asked
