# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a site that leaves: what of it is deleted, and what stays because it is someone else's or says something new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger, LedgerError
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record

PLACE = "/api/v1/namespaces/flower/configmaps/"
RECORD, BUNDLE = "flower-site-x", "flower-bundle-x"
SEEN = empty_record("x")


def item(name: str, *, federation: str = "demo", manager: str = "federated.flower", uid: str = "1", region: str | None = None) -> Any:
    """A ConfigMap of the ledger, as it is live."""
    data = {"ledger.json": json.dumps(empty_record("x", region))}
    made = config_map(federation, "flower", name, data, application="flower-ledger", component="ledger")
    made["metadata"] |= {"uid": uid, "resourceVersion": f"{uid}0", "managedFields": [{"manager": manager, "operation": "Update"}]}
    return made


class Hub(Cluster):
    """Some ConfigMaps, and a rival that replaces one of them once, before it is deleted."""

    def __init__(self, *items: Any, rival: Any = None) -> None:
        self.name = "hub"
        self.items = {one["metadata"]["name"]: one for one in items}
        self.rival = rival
        self.deleted: list[tuple[str, Any]] = []

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.items.get(name)

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "", **_more: Any) -> Any:
        assert method == "DELETE"
        name = path.removeprefix(PLACE)
        if self.rival is not None and self.rival["metadata"]["name"] == name:
            self.items[name], self.rival = self.rival, None
        meta, wanted = self.items[name]["metadata"], body.get("preconditions") or {}
        if any(meta[key] != value for key, value in wanted.items()):
            raise Conflict("hub", f"{method} {path}", 409, {"message": "the precondition differs"})
        del self.items[name]
        self.deleted.append((name, wanted))
        return {}


def ledger(hub: Hub, *, check: bool = False) -> Ledger:
    return Ledger(hub, "flower", "demo", check=check)


def test_exactly_what_was_read_is_deleted() -> None:
    hub = Hub(item(BUNDLE, uid="2"), item(RECORD))
    assert ledger(hub, check=True).delete_record("x", SEEN) and not hub.deleted
    assert ledger(hub).delete_record("x", SEEN)
    assert hub.deleted == [(BUNDLE, {"uid": "2", "resourceVersion": "20"}), (RECORD, {"uid": "1", "resourceVersion": "10"})]
    assert not ledger(hub).delete_record("x", SEEN)


@pytest.mark.parametrize("whose", [{"federation": "other"}, {"manager": "kubectl-create"}])
def test_a_config_map_of_someone_else_with_the_name_of_a_bundle_stays(whose: Any) -> None:
    hub = Hub(item(BUNDLE, **whose), item(RECORD))
    assert ledger(hub).delete_record("x", SEEN)
    assert list(hub.items) == [BUNDLE] and [name for name, _wanted in hub.deleted] == [RECORD]


@pytest.mark.parametrize(
    ("whose", "words"),
    [
        ({"federation": "other"}, "the record of x, belongs to the federation other: it was not deleted"),
        ({"manager": "kubectl-create"}, "the record of x, was written only by others"),
    ],
)
def test_a_record_of_someone_else_is_refused(whose: Any, words: str) -> None:
    hub = Hub(item(BUNDLE), item(RECORD, **whose))
    with pytest.raises(LedgerError, match=f"ConfigMap flower/{RECORD} on hub, {words}"):
        ledger(hub).delete_record("x", SEEN)
    assert not hub.deleted


def test_a_record_with_keys_of_another_run_stays() -> None:
    hub = Hub(item(RECORD), rival=item(RECORD, uid="3", region="eu"))
    with pytest.raises(LedgerError, match="was changed by another run in the meantime. Run again"):
        ledger(hub).delete_record("x", SEEN)
    assert not hub.deleted and hub.items[RECORD]["metadata"]["uid"] == "3"


def test_a_record_that_says_the_same_after_a_change_is_deleted() -> None:
    hub = Hub(item(BUNDLE), item(RECORD), rival=item(RECORD, uid="3"))
    assert ledger(hub).delete_record("x", SEEN)
    assert hub.deleted[-1] == (RECORD, {"uid": "3", "resourceVersion": "30"}) and not hub.items
