# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role in a playbook of a user, whose inventory has none of this collection's groups; and playbooks of an inventory without a hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.specs import CA

pytestmark = pytest.mark.playbook

AWAY = "the API server https://127.0.0.1:1 refuses"  # so it got as far as the clusters
NO_HUB = "is not set, and no host is in the group flower_hub"
# A host, its role and variables -> what is said of it. Nothing listens where the clusters are.
ANSWERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a1": ("supernode", {}, f"supernode_hub {NO_HUB}"),
    "a2": ("supernode", {"supernode_hub": "central"}, AWAY),
    "a3": ("supernode", {"supernode_hub": "nobody"}, "the inventory has no host 'nobody'"),
    "a4": ("supernode", {"supernode_superlink": {"address": "fl.example.com:9092"}}, "supernode_superlink.ca: None is not set"),
    "a5": ("supernode", {"supernode_superlink": {"address": "fl.example.com:9092", "ca": CA}}, AWAY),
    "a6": ("supernode", {"supernode_hub": "central", "supernode_state": "absent"}, AWAY),
    "b1": ("clientapp", {}, f"supernode_hub {NO_HUB}"),
    "b2": ("clientapp", {"supernode_hub": "central", "flower_clientapp": "workload"}, AWAY),
    "b3": ("clientapp", {"supernode_hub": "central", "clientapp_state": "absent", "flower_clientapp": "workload"}, AWAY),
    "c1": ("skupper_link", {}, f"skupper_link_hub {NO_HUB}"),
    "c2": ("skupper_link", {"skupper_link_hub": "central"}, AWAY),
    "d1": ("cert_rotation", {}, f"cert_rotation_hub {NO_HUB}"),
    "d2": ("cert_rotation", {"cert_rotation_hub": "central"}, AWAY),
    "e1": ("superlink", {}, AWAY),
    "e2": ("superlink", {"superlink_state": "absent"}, AWAY),
    "f1": ("skupper_site", {}, AWAY),
    "g1": ("skupper_listener", {}, AWAY),
    "h1": ("ocm_addon", {}, AWAY),
}
LOCAL = {"ansible_connection": "local", "flower_auth": {"host": "https://127.0.0.1:1", "api_key": "none"}}


def test_each_role_works_in_a_playbook_of_a_user_and_says_what_it_needs(tmp_path: Path) -> None:
    hosts = {"central": {}, **{name: {"wanted_role": role, **given} for name, (role, given, _words) in ANSWERS.items()}}
    plays = [
        {
            "hosts": name,
            "gather_facts": False,
            "tasks": [
                {
                    "block": [{"ansible.builtin.include_role": {"name": f"federated.flower.{role}"}}],
                    "rescue": [{"ansible.builtin.debug": {"msg": "said by {{ inventory_hostname }}: {{ ansible_failed_result.msg }}"}}],
                }
            ],
        }
        for name, (role, _given, _words) in ANSWERS.items()
    ]
    (tmp_path / "own.yml").write_text(yaml.safe_dump(plays, sort_keys=False))
    done = play(written(tmp_path, {"all": {"vars": LOCAL, "hosts": hosts}}), str(tmp_path / "own.yml"), "-e", "ansible_python_interpreter=auto_silent")
    said = {line.split(":")[0].strip(): line for line in _messages(done.stdout)}
    wrong = {name: said.get(name, "nothing") for name, (_role, _given, words) in ANSWERS.items() if words not in said.get(name, "")}
    assert not wrong and done.returncode == 0, (wrong, done.stdout[-3000:])


def _messages(output: str) -> list[str]:
    """What C(debug) showed, one for each host, without C(said by)."""
    lines = [line.strip() for line in output.splitlines() if '"msg": "said by ' in line]
    return [json.loads("{" + line.rstrip(",") + "}")["msg"].removeprefix("said by ") for line in lines]


JOINS = {"flower_auth": {"host": "https://127.0.0.1:1", "api_key": "none"}, "supernode_superlink": {"address": "fl.example.com:9092", "ca": CA}}


def without_hub(folder: Path, **sites: dict[str, Any]) -> Path:
    fleet = inventory({}, sites)
    del fleet["all"]["children"]["flower_hub"]
    return written(folder, fleet)


@pytest.mark.parametrize(
    ("playbook", "options", "words"),
    [
        ("site", (), "site-a: the API server https://127.0.0.1:1 refuses"),
        ("status", (), "site-a: SuperLink fl.example.com:9092: site-a: the API server https://127.0.0.1:1 refuses"),
        ("teardown", ("-e", "flower_teardown=true"), "site-a: the API server https://127.0.0.1:1 refuses"),
        ("rotate_certs", ("-e", "flower_rotate=supernode_keys"), "site-a: the API server https://127.0.0.1:1 refuses"),
        ("rotate_certs", ("-e", "flower_rotate=ca"), "cert_rotation_rotate: ca is of a hub"),
        ("site", ("-e", "flower_forget_sites=site-b"), "flower_forget_sites is set, and needs a hub"),
        ("reconcile", (), "this playbook needs a hub"),
    ],
)
def test_playbooks_of_an_inventory_without_a_hub(tmp_path: Path, playbook: str, options: tuple[str, ...], words: str) -> None:
    done = play(without_hub(tmp_path, **{"site-a": JOINS}), playbook, *options)
    assert words in " ".join(done.stdout.split()) and "has no attribute" not in done.stdout, done.stdout[-3000:]


def test_all_sites_of_an_inventory_without_a_hub_join_another_superlink(tmp_path: Path) -> None:
    done = play(without_hub(tmp_path, **{"site-a": JOINS, "site-b": {}}), "site")
    assert "supernode_superlink is set for site-a, but not for site-b" in " ".join(done.stdout.split()), done.stdout[-3000:]


def test_a_site_of_another_superlink_is_not_beside_a_hub(tmp_path: Path) -> None:
    with api_server() as (address, seen):
        access = {"flower_auth": {"host": address, "api_key": "none"}}
        fleet = written(tmp_path, inventory(access, {"site-a": {**JOINS, **access}}))
        done = play(fleet, "site", "--tags", "supernode")
    assert "site-a: supernode_superlink is set, and the inventory has the hub hub" in " ".join(done.stdout.split()), done.stdout[-3000:]
    assert not [one for one in seen if one["method"] != "GET"]
