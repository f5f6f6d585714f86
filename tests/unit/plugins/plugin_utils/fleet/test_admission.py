# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who can be denied: the gateway knows sites by their client certificates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import admission
from ansible_collections.federated.flower.plugins.plugin_utils.state import records

KEY = {"SHA256:a": {"pool": "cpu", "name": "0", "node_id": "1", "public_key": "k", "dead": False}}


class Ledger:
    """The ledger of a hub, in memory."""

    def __init__(self, *found: dict[str, Any]) -> None:
        self.found = {one["site"]: one for one in found}
        self.book: dict[str, Any] = {}

    def read_book(self) -> dict[str, Any]:
        return self.book

    def read_sites(self) -> tuple[dict[str, Any], dict[str, str]]:
        return dict(self.found), {}

    def change_book(self, change: Any) -> bool:
        before, self.book = self.book, change(self.book)
        return bool(self.book != before)

    def change_record(self, site: str, change: Any) -> bool:
        before, self.found[site] = self.found[site], change(self.found[site])
        return bool(self.found[site] != before)


def admitted(monkeypatch: pytest.MonkeyPatch, ledger: Ledger, asked: str = "required") -> admission.Admission:
    """Who is admitted to a hub whose gateway asks for client certificates, or does not."""
    store = SimpleNamespace(publish=lambda **_more: False, read=lambda: None, diff=[], objects=[])
    monkeypatch.setattr(admission, "Ledger", lambda *_place, **_more: ledger)
    monkeypatch.setattr(admission, "ClientStore", lambda *_place, **_more: store)
    monkeypatch.setattr(admission.clients, "denied_sites", lambda _live: [])
    hub: Any = SimpleNamespace(name="hub", get=lambda *_which: None)
    found = admission.Admission(hub, "flower", "demo", lambda *_site, **_facts: None)
    monkeypatch.setattr(found, "_asked", lambda: asked)
    return found


def test_a_site_that_has_no_keys_yet_is_denied_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(records.empty_record("new", "us"))
    found = admitted(monkeypatch, ledger)
    done = found.change(["new"], "denied", holder="run x")
    assert done.denials["new"]["state"] == "denied" and ledger.found["new"]["access"]["holder"] == "run x"
    assert found.change(None, "admitted", holder="run x").denials == {"new": {}} and "access" not in ledger.found["new"]


def test_a_site_whose_keys_pass_without_a_certificate_cannot_be_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    found = admitted(monkeypatch, Ledger({**records.empty_record("old", "us"), "keys": KEY}))
    with pytest.raises(ClusterError, match="old has no client certificate"):
        found.change(["old"], "denied", holder="run x")
    with pytest.raises(ClusterError, match="does not request client certificates"):
        admitted(monkeypatch, Ledger(records.empty_record("new", "us")), "none").change(["new"], "denied")
