# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sites are forgotten one by one: what stands in the way of one is said, and the others go."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode_forget
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.records import empty_record
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import DATASETS, SITE_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.report.summary import fleet_summary


class Hub(Cluster):
    """The ConfigMaps of a ledger; those of some sites were written by other hands."""

    def __init__(self, **managers: str) -> None:
        self.name = "hub"
        self.items: dict[str, Any] = {}
        self._add(DATASETS, {}, "federated.flower")
        for site, manager in managers.items():
            self._add(f"flower-site-{site}", empty_record(site), manager, {SITE_LABEL: site})

    def _add(self, name: str, content: Any, manager: str, labels: Any = None) -> None:
        data = {"ledger.json": json.dumps(content)}
        made = config_map("demo", "flower", name, data, application="flower-ledger", component="ledger", labels=labels)
        made["metadata"] |= {"uid": name, "resourceVersion": "1", "managedFields": [{"manager": manager}]}
        self.items[name] = made

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.items.get(name)

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return [item for item in self.items.values() if SITE_LABEL in item["metadata"]["labels"]]

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "") -> Any:
        if method == "DELETE":
            del self.items[path.rpartition("/")[2]]
        else:
            self.items[body["metadata"]["name"]] = body
        return {}


def forget(monkeypatch: pytest.MonkeyPatch, hub: Hub, noted: list[str], **given: Any) -> dict[str, Any]:
    """What the action returns."""
    store = SimpleNamespace(bring=lambda: False, diff=[])
    monkeypatch.setattr(supernode_forget, "ClientStore", lambda *_place, **_more: store)
    action: Any = object.__new__(supernode_forget.ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    action.connect = lambda _hub: contextlib.nullcontext(hub)
    action.note = lambda site, **_facts: noted.append(site)
    place = {"hub": "hub", "hub_namespace": "flower", "federation": "demo"}
    result: dict[str, Any] = action.execute(action._checked(action.ARGS, {}, {**place, **given}, ""), {})
    return result


def test_a_record_that_is_not_deleted_stops_no_other_site(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(a="federated.flower", b="kubectl-create", c="federated.flower")
    noted: list[str] = []
    result = forget(monkeypatch, hub, noted, sites=["a", "b", "c"])
    assert result["failed"] and result["sites"] == noted == ["a", "c"]
    assert "2 sites forgotten; b is not forgotten: ConfigMap flower/flower-site-b on hub, the record of b, was written" in result["msg"]
    assert [name for name in hub.items if name.startswith("flower-site-")] == ["flower-site-b"]


@pytest.mark.parametrize("value", ["", "none", "false", "0", False, None, []])
def test_a_value_that_names_no_site_asks_no_cluster(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    hub: Any = SimpleNamespace(name="hub")
    assert forget(monkeypatch, hub, [], sites=value, inventory=["a"]) == {
        "changed": False, "nodes": [], "sites": [], "warnings": [], "msg": "0 sites to forget",
    }  # fmt: skip


@pytest.mark.parametrize(("validate", "sites"), [(True, ["a"]), (False, ["a"])])
def test_a_name_that_the_ledger_does_not_have_is_not_forgotten(monkeypatch: pytest.MonkeyPatch, validate: bool, sites: list[str]) -> None:
    hub = Hub(a="federated.flower", b="federated.flower")
    result = forget(monkeypatch, hub, [], sites="a,bb", inventory=["b"], validate=validate)
    assert result["sites"] == sites
    assert result["warnings"] == ["flower_forget_sites: the ledger has nothing of 'bb', so there is nothing to forget. It has: a, b"]
    assert fleet_summary({"sites": {}}, ["b"], result["sites"]).endswith(" a is forgotten.")
    assert forget(monkeypatch, Hub(), [], sites=["c"])["warnings"] == [], "a teardown names its hosts, deployed or not"
