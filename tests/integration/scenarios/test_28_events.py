# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An alert repairs a site: a real ansible-rulebook receives it and runs the real playbooks. tests/events has everything else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.events.rulebook import TOKEN, Rulebook, alert, notification
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE


@pytest.fixture(scope="module")
def program():
    """ansible-rulebook, in its own environment."""
    tools = Path(os.environ["FLOWER_CHECKOUT"]) / "tools"
    subprocess.run(["bash", str(tools / "java.sh")], check=True)
    command = [sys.executable, str(tools / "environment.py"), "eda"]
    python = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return Path(python).parent / "ansible-rulebook"


def test_an_alert_repairs_its_site(fed, program):
    site, inventory = fed.cluster("site-a"), fed.inventory()
    untouched = fed.lives("site-b"), fed.lives("hub", name="superlink")
    before = len(fed.trail())
    fed.settled = False
    site.delete("apps/v1", "StatefulSet", "supernode-cpu", NAMESPACE, propagation="Background")

    environ = fed.environment(fed.logs / "rulebook.jsonl")
    variables = {"flower_event_inventory": str(inventory), "flower_event_watch": 0}
    with Rulebook("fleet_events", fed.logs, "-i", str(inventory), program=program, environ=environ, **variables) as rulebook:
        assert rulebook.send(notification(alert("FlowerSiteOffline", site="site-a")), "forged-by-someone-else") == 401
        assert rulebook.send(notification(alert("FlowerSiteOffline", site="site-a", namespace=f"{NAMESPACE}-of-others"))) == 200
        fed.wait("the refusal", lambda: f"none of this federation's, ['{NAMESPACE}']" in rulebook.said(), 60)
        assert rulebook.said().count("PLAY RECAP") == 0
        assert rulebook.send(notification(alert("FlowerSiteOffline", site="site-a", namespace=NAMESPACE))) == 200
        fed.wait("the end of status and site", lambda: rulebook.said().count("PLAY RECAP") == 2, 240)
    entries = fed.trail()[before:]
    assert [(entry["playbook"], entry["options"]) for entry in entries] == [("federated.flower.site", {"limit": "site-a"})] * len(entries), entries
    entry = fed.recorded(before)
    assert [one["object"] for one in fed.noted(entry, "site-a", "objects", "created")] == [f"StatefulSet {NAMESPACE}/supernode-cpu"], entry
    assert len(fed.pods("site-a")) == 2
    assert (fed.lives("site-b"), fed.lives("hub", name="superlink")) == untouched
    fed.settled = True
    assert TOKEN not in rulebook.said()
