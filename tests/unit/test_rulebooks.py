# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two rulebooks do the same: one with playbooks, one with the job templates of the role awx."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.event_request import ASKED, DEPLOY
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file

FOLDER = ("extensions", "eda", "rulebooks")
(PLAYBOOKS,) = yaml_file(*FOLDER, "fleet_events.yml")
(JOBS,) = yaml_file(*FOLDER, "fleet_events_controller.yml")


def without_actions(ruleset: dict[str, Any]) -> dict[str, Any]:
    rules = [{key: value for key, value in rule.items() if key != "actions"} for rule in ruleset["rules"]]
    return {**ruleset, "rules": rules}


def test_sources_and_conditions_are_the_same() -> None:
    assert without_actions(PLAYBOOKS) == without_actions(JOBS)


def test_actions_are_the_same() -> None:
    templates = {row["name"].removeprefix("{{ awx_name }} "): row for row in yaml_file("roles", "awx", "defaults", "main.yml")["awx_job_templates"]}
    for rule, other in zip(PLAYBOOKS["rules"], JOBS["rules"], strict=True):
        for action, job in zip(rule["actions"], other["actions"], strict=True):
            ((name, playbook),), ((kind, launched),) = action.items(), job.items()
            assert (name, kind) == ("run_playbook", "run_job_template")
            found = playbook["name"].removeprefix("federated.flower.")
            assert (ROOT / "playbooks" / f"{found}.yml").exists()
            assert launched["name"] == "{{ awx_name | default('Flower') }} " + found
            assert launched.get("job_args", {}).get("extra_vars") == playbook.get("extra_vars")
            template = templates[found]
            # A job whose template does not ask for the limit would run without it.
            assert template.get("ask_limit_on_launch") or found == "outputs"
            asked = {question["variable"] for question in template["survey_spec"]["spec"]}
            assert set(playbook.get("extra_vars", {})) <= asked


def test_every_action_of_the_source_has_a_rule() -> None:
    conditions = [re.fullmatch(r'event\.do == "(\w+)"', rule["condition"]) for rule in PLAYBOOKS["rules"]]
    assert sorted(found[1] for found in conditions if found) == sorted([*ASKED, DEPLOY])


def test_the_groups_are_those_that_playbooks_know() -> None:
    """An action gives a playbook no other names: it would have no hosts, and the event would do nothing."""
    for ruleset in (PLAYBOOKS, JOBS):
        assert not {"hub_group", "sites_group"} & set(ruleset["sources"][0]["federated.flower.fleet_events"])
        assert ruleset["hosts"] == "flower_hub:flower_sites"


def test_secrets_come_from_the_environment() -> None:
    source = PLAYBOOKS["sources"][0]["federated.flower.fleet_events"]
    assert source["token"] == "{{ FLOWER_EVENT_TOKEN | default('') }}"
    assert source["hmac_secret"] == "{{ FLOWER_EVENT_HMAC_SECRET | default('') }}"
