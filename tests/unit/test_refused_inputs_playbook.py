# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks fail, and ask no cluster, where they would do nothing or something else than what was written: Ansible would end them with success."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.read import ROOT

pytestmark = pytest.mark.playbook

APP = f"flower_app={ROOT / 'examples' / 'quickstart'}"
RIGHTS = {"status": {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}


@pytest.fixture(name="hub")
def fixture_hub() -> Iterator[tuple[dict[str, Any], list[dict[str, str]]]]:
    """Variables of a hub, and the requests that it got."""
    with api_server({"/selfsubjectrulesreviews": RIGHTS}) as (address, seen):
        yield {"flower_auth": {"host": address, "api_key": "s3cr3t"}, "flower_platform": "kubernetes"}, seen


@pytest.mark.parametrize(
    ("playbook", "options", "words"),
    [
        ("run", ("-e", APP, "--limit", "site-a"), "--limit leaves out the hub hub, at which this playbook works: remove --limit, or add hub to it"),
        ("clientapp", ("--limit", "hub"), "--limit leaves out all sites, at which this playbook works: remove --limit, or add a site to it"),
        ("outputs", ("-i", "nowhere.yml"), "flower_hub has no host: "),
        ("run", ("-e", APP, "-e", '{"flower_run_region": ["eu"]}'), "hub: flower_run_region: this collection has no such variable. The most similar one is"),
        ("rotate_certs", ("-e", "flower_rotat=ca", "--limit", "site-a"), "hub: flower_rotat: this collection has no such variable. The most similar one is"),
        ("run", (), "hub: nothing to run: name the app with -e flower_app=PATH"),
    ],
)
def test_what_would_be_skipped_or_ignored_is_refused(hub: Any, tmp_path: Path, playbook: str, options: tuple[str, ...], words: str) -> None:
    variables, seen = hub
    content = {} if "-i" in options else inventory(variables, {"site-a": {}})
    done = play(written(tmp_path, content), playbook, *options)
    assert done.returncode == 2 and words in " ".join(done.stdout.split()), done.stdout
    assert seen == [] and "s3cr3t" not in done.stdout


def test_without_a_hub_the_name_of_the_group_of_sites_is_refused_as_well(tmp_path: Path) -> None:
    sites = {"site-a": {"supernode_superlink": {"address": "fl.example.org:9092"}}}
    content = {"all": {"vars": {"flower_sites_group": "clinics"}, "children": {"clinics": {"hosts": sites}}}}
    done = play(written(tmp_path, content), "status")
    assert done.returncode == 2 and "flower_sites_group are set in the inventory" in " ".join(done.stdout.split()), done.stdout


@pytest.mark.parametrize("options", [(), ("--limit", "site-a")])
def test_without_a_hub_all_sites_join_another_superlink(tmp_path: Path, options: tuple[str, ...]) -> None:
    sites: dict[str, Any] = {"site-a": {"supernode_superlink": {"address": "fl.example.org:9092"}}, "site-b": {}}
    done = play(written(tmp_path, {"flower_sites": {"hosts": sites}}), "status", *options)
    assert done.returncode == 2 and "supernode_superlink is set for site-a, but not for site-b" in " ".join(done.stdout.split()), done.stdout


def test_a_variable_of_the_hub_is_known_before_the_first_task_and_your_own_are_declared(hub: Any, tmp_path: Path) -> None:
    """The inventory of a data scientist has the hub alone. A controller adds variables of its own."""
    variables, seen = hub
    fleet = written(tmp_path, inventory({**variables, "flower_mine": 1, "flower_yours": 2}, {}))
    words = ("connect", "--check", "-e", "awx_job_id=7 tower_job_id=7", "-e")
    refused = play(fleet, *words, "flower_own_variables=flower_mine")
    assert refused.returncode == 2 and "hub: flower_yours: this collection has no such variable" in refused.stdout, refused.stdout
    assert "hub: flower_mine" not in refused.stdout and seen == []
    done = play(fleet, *words, '{"flower_own_variables": "flower_mine, flower_yours", "flower_connect_ca": "none.pem"}')
    assert "no such variable" not in done.stdout and "TASK [Write or remove the connection]" in done.stdout, done.stdout
    assert "PLAY [Check the inventory] " in done.stdout and "skipping: no hosts matched" in done.stdout, done.stdout
