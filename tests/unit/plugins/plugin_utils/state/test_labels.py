# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records are listed by labels: the next change of a record gives back those that someone removed. And how large they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import SITE_LABEL, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record
from ansible_collections.federated.flower.tests.unit.shared_namespace import selects


class Hub(Cluster):
    """A hub with ConfigMaps."""

    def __init__(self) -> None:
        self.name = "hub"
        self.items: dict[str, dict[str, Any]] = {}
        self.writes = 0

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.items.get(name)

    def list(self, api_version: str, kind: str, namespace: str | None = None, *, labels: str = "", **_more: Any) -> Any:
        # The second label of the selector has no value: it has to be there.
        return [one for one in self.items.values() if SITE_LABEL in one["metadata"]["labels"] and selects(labels.partition(",")[0], one["metadata"]["labels"])]

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "", **_more: Any) -> Any:
        self.writes += 1
        body["metadata"]["resourceVersion"] = str(self.writes)
        self.items[body["metadata"]["name"]] = body
        return body


@pytest.mark.parametrize("label", [SITE_LABEL, "app.kubernetes.io/component"])
def test_a_record_is_found_again(label: str) -> None:
    hub = Hub()
    ledger = Ledger(hub, "flower", "demo")
    record = {**empty_record("x"), "region": "eu"}
    assert ledger.change_record("x", lambda _old: record)
    del hub.items["flower-site-x"]["metadata"]["labels"][label]
    hub.items["flower-site-x"]["metadata"]["labels"]["team"] = "blue"
    assert ledger.read_sites()[0] == {}
    assert Ledger(hub, "flower", "demo", check=True).change_record("x", lambda old: old) and ledger.read_sites()[0] == {}
    assert ledger.change_record("x", lambda old: old)
    assert ledger.read_sites()[0] == {"x": record} and hub.items["flower-site-x"]["metadata"]["labels"]["team"] == "blue"
    assert not ledger.change_record("x", lambda old: old) and hub.writes == 2


def test_a_record_has_the_bytes_that_it_needs() -> None:
    """A site may have 1000 SuperNodes, and twice as many keys while they are rotated."""
    hub, line = Hub(), f"ecdsa-sha2-nistp384 {'A' * 184}"
    ledger = Ledger(hub, "flower", "demo")
    keys = [{"pool": "cpu", "name": str(number), "fingerprint": f"SHA256:{number:043}", "public_key": line} for number in range(1000)]
    record = records.merge_keys(empty_record("x"), keys, "eu")
    assert ledger.change_record("x", lambda _old: record) and ledger.read_sites()[0] == {"x": record}
    text = hub.items["flower-site-x"]["data"]["ledger.json"]
    assert "\n" not in text and len(text) < 370_000
    hub.items["flower-site-x"]["data"]["ledger.json"] = json.dumps(record, sort_keys=True, indent=1)
    assert ledger.read_record("x") == record and not ledger.change_record("x", lambda old: old), "one of an earlier release is not written again"
