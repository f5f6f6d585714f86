# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub that does not answer when its lease is asked for: what to do depends on the playbook."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import lease as lease_action
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
from ansible_collections.federated.flower.tests.unit.read import ROOT

SILENT = "hub: https://hub.example:6443 accepted the connection and did not answer within 30 s."


def take(monkeypatch: pytest.MonkeyPatch, folder: Path, **variables: Any) -> Any:
    """Ask for the lease of a hub that does not answer."""

    def refuse(*_given: Any) -> Any:
        raise Unreachable(SILENT)

    monkeypatch.setattr(lease_action, "run_facts", lambda _variables: {"pid": 1})
    monkeypatch.setattr(lease_action.parent, "go_on", lambda *_given: None)
    monkeypatch.setattr(lease_action.record, "identity", lambda *_given: "")
    monkeypatch.setattr(lease_action.context, "CLIARGS", {})
    action: Any = object.__new__(lease_action.ActionModule)
    action.task_vars = {}
    action._hub = lambda _params: contextlib.nullcontext(SimpleNamespace(name="hub"))
    action._lease = lambda *_given: SimpleNamespace(take=refuse, namespace="flower")
    action.variable = lambda name, default: variables.get(name, default)
    return action._take({"wait": 60, "claim": False, "any_state": False}, folder)


@pytest.mark.parametrize(
    ("variables", "remedy", "other"),
    [
        ({}, "Run the playbook again when the hub answers.", "flower_claim_sites"),
        ({"__lease_removes": True}, "-e flower_claim_sites=true removes sites", "Run"),
    ],
)
def test_the_remedy_is_that_of_the_playbook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, Any], remedy: str, other: str) -> None:
    with pytest.raises(ClusterError) as error:
        take(monkeypatch, tmp_path, **variables)
    assert error.value.message.startswith(f"{SILENT} So the lease of the fleet cannot be taken, and nothing was changed. ")
    assert remedy in error.value.message and other not in error.value.message


def test_only_a_teardown_removes() -> None:
    """In other playbooks flower_claim_sites takes sites over."""
    assert [path.stem for path in sorted(ROOT.glob("playbooks/*.yml")) if "__lease_removes: true" in path.read_text(encoding="utf-8")] == ["teardown"]
