# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run is refused while a SuperNode that is online lacks a dataset; what its people may have applied is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import needed_datasets
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError

INDEX = {
    "lyon": {"cpu": {"datasets": ["ct"], "nodes": ["1"]}},
    "oslo": {"cpu": {"datasets": [], "nodes": ["2"], "promised": {"ct": 5}}},
}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(needed_datasets, "Ledger", lambda *_place, **_more: SimpleNamespace(read_datasets=lambda: INDEX))

    def require(*online: str) -> dict[str, list[str]]:
        nodes = {node: {"status": "online" if node in online else "offline"} for node in ("1", "2")}
        cli: Any = SimpleNamespace(cluster=SimpleNamespace(name="hub"), namespace="flower", nodes=lambda: nodes)
        return needed_datasets.require(cli, ["ct"], lambda _text: None)

    return require


def test_what_was_only_written_for_a_site_does_not_count(ask: Any) -> None:
    with pytest.raises(FlowerError, match=r"nothing was submitted.*dataset ct: oslo \(pool cpu\)") as error:
        ask("1", "2")
    assert "whether oslo has applied bundle version 5, which has dataset ct, is not known: its reply to that version shows it" in error.value.message
    assert ask("1") == {"ct": ["lyon"]}
