# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet without sites behind Open Cluster Management needs no rights to it, also where its hub has it."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import ocm_clean
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import ranges


class Hub(Cluster):
    """A hub of Open Cluster Management; whoever asks may not read what that has."""

    def __init__(self) -> None:
        self.name = "hub"

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        raise Forbidden("hub", f"GET {kind}", 403, {"message": "jane cannot get clustermanagementaddons"})


def clean(monkeypatch: pytest.MonkeyPatch, delivery: str, **given: Any) -> dict[str, Any]:
    monkeypatch.setattr(ocm_clean.Ledger, "read_sites", lambda _ledger: ({}, {}))
    monkeypatch.setattr(ocm_clean.Ledger, "read_book", lambda _ledger: ranges.empty_book())
    action: Any = object.__new__(ocm_clean.ActionModule)
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect = lambda: contextlib.nullcontext(Hub())
    action.way_of = lambda _site: SimpleNamespace(delivery=delivery)
    result: dict[str, Any] = action.execute(action._checked(action.ARGS, {}, {"addon": "flower-supernode", **given}, ""), {})
    return result


def test_a_site_is_forgotten_without_rights_that_its_fleet_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    result = clean(monkeypatch, "direct", sites=["site-a"], forget="site-b")
    assert not result["changed"]
    (words,) = result["warnings"]
    assert words.startswith("whether Open Cluster Management still delivers anything to site-b is not known: ") and "jane cannot get" in words


def test_where_sites_are_behind_it_a_missing_right_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Forbidden):
        clean(monkeypatch, "ocm", sites=["site-a"])
