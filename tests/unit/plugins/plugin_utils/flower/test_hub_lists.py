# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the SuperLink lists; that it cannot list something is not an empty list."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import hub_lists
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import Answer, FlowerError

NODES = Answer(True, {"success": True, "nodes": [{"node-id": 10, "status": "online"}]}, "")
RUNS = Answer(True, {"success": True, "runs": [{"run-id": 7, "status": "running"}]}, "")
BUSY = Answer(False, {}, "database\n  is locked")


def test_lists():
    nodes, runs = hub_lists.listed(NODES, RUNS, "hub")
    assert nodes == {"10": {"node-id": 10, "status": "online"}} and runs == [{"run-id": "7", "status": "running"}]
    assert hub_lists.listed(Answer(True, {}, ""), Answer(True, {}, ""), "hub") == ({}, [])


@pytest.mark.parametrize(("nodes", "runs", "what"), [(BUSY, RUNS, "SuperNodes"), (NODES, BUSY, "runs")])
def test_no_list_is_not_an_empty_one(nodes, runs, what):
    with pytest.raises(FlowerError, match=f"cannot list the {what} on hub: database is locked"):
        hub_lists.listed(nodes, runs, "hub")
