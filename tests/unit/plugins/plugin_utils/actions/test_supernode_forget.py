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
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.summary import fleet_summary
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import DATASETS, SITE_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record


class Hub(Cluster):
    """The ConfigMaps of a ledger; those of some sites were written by other hands. C(works): its ManifestWorks, or why they cannot be read."""

    works: Any = NotServed("hub", "GET", 404, {})

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

    def keep(self, site: str, **record: Any) -> None:
        self._add(f"flower-site-{site}", {**empty_record(site), **record}, "federated.flower", {SITE_LABEL: site})

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        if kind == "ManifestWork":
            if isinstance(self.works, Exception):
                raise self.works
            return self.works
        return [item for item in self.items.values() if SITE_LABEL in item["metadata"]["labels"]]

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "", **_more: Any) -> Any:
        if method == "DELETE":
            del self.items[path.rpartition("/")[2]]
        else:
            self.items[body["metadata"]["name"]] = body
        return {}


def forget(
    monkeypatch: pytest.MonkeyPatch, hub: Hub, noted: list[str], *, check: bool = False, facts: Any = None, **given: Any
) -> dict[str, Any]:
    """What the action returns; C(facts) gets what it records."""
    store = SimpleNamespace(publish_and_load=lambda: False, diff=[])
    monkeypatch.setattr(supernode_forget, "ClientStore", lambda *_place, **_more: store)
    action: Any = object.__new__(supernode_forget.ActionModule)
    action._task = SimpleNamespace(check_mode=check)
    action.connect = lambda _hub: contextlib.nullcontext(hub)
    action.note = lambda site, **found: (noted.append(site), (facts or {}.update)(found))
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


def test_all_certificates_that_are_revoked_with_a_site_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that leaves while its client key is being replaced has two; its leaving record names both."""
    hub, found = Hub(), dict[str, Any]()
    client = {"serial": "4b", "fingerprint": "SHA256:c", "not_after": "2027-01-01", "key": "SHA256:k", "certificate": "PEM"}
    hub.keep("a", client=client, superseded=[{"serial": "3a", "until": "2027-01-01"}, "2f"])
    forget(monkeypatch, hub, [], facts=found.update, sites=["a"])
    assert [one["serial"] for one in found["certificates"] if one["change"] == "revoked"] == ["3a", "2f", "4b"]
    assert {one["serial"] for one in json.loads(hub.items["flower-ledger"]["data"]["ledger.json"])["revoked"]} == {"3a", "2f", "4b"}


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
    assert result["warnings"] == ["flower_forget_sites: the ledger has no record of 'bb', so there is nothing to forget. It has: a, b"]
    assert fleet_summary({"sites": {}}, ["b"], result["sites"]).endswith(" a is forgotten.")
    assert forget(monkeypatch, Hub(), [], sites=["c"])["warnings"] == [], "a teardown names its hosts, deployed or not"


def work(site: str, cluster: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "flower-nodes", "namespace": cluster, "annotations": {"federated.flower/site": site}, **meta}}


def test_keys_are_not_retired_while_the_hub_delivers_to_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever kept the clean-up from it: a limit without the hub, or --skip-tags."""
    hub = Hub(a="federated.flower", b="federated.flower", c="federated.flower", d="federated.flower")
    hub.works = [work("a", "c1"), work("b", "c2", deletionTimestamp="2026-11-26T10:00:00Z"), work("d", "c4")]
    result = forget(monkeypatch, hub, [], sites=["a", "b", "c"], inventory=["d"], max=3)
    assert result["failed"] and result["sites"] == ["b", "c"] and "a is not forgotten: the hub still delivers to its cluster c1" in result["msg"]
    assert "flower-site-a" in hub.items and "flower-site-b" not in hub.items
    # A teardown has just deleted it, or its site is not behind the hub.
    assert not forget(monkeypatch, hub, [], sites=["a"])["failed"]


def test_that_the_clean_up_cannot_run_is_said_before_anything_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(a="federated.flower", b="federated.flower")
    hub.works = [work("a", "c1")]
    given: dict[str, Any] = {"sites": ["a"], "inventory": ["b"]}
    for options in ({"validate": True}, {"check": True}):
        with pytest.raises(ClusterError, match="c1") if "validate" in options else contextlib.nullcontext():
            assert forget(monkeypatch, hub, [], **given, **options, hub_left_out=True)["failed"]
        # With the hub in the run, the clean-up comes first: in check mode it only would.
        assert not forget(monkeypatch, hub, [], **given, **options).get("failed")


@pytest.mark.parametrize(
    ("record", "forgotten"), [({"delivery": "direct"}, True), ({"delivery": "bundle"}, True), ({"delivery": "ocm"}, False), ({}, False)]
)
def test_without_the_right_to_look_the_record_of_the_site_decides(
    monkeypatch: pytest.MonkeyPatch, record: dict[str, Any], forgotten: bool
) -> None:
    """Every deployment notes in it how the site is delivered. Fleets that never had Open Cluster Management need no rights to it, also where
    their hub has it; one without this note was deployed by an earlier release, so nothing is known of it."""
    hub = Hub(b="federated.flower")
    hub.keep("a", **record)
    hub.works = Forbidden("hub", "GET", 403, {"message": "jane cannot list manifestworks"})
    result = forget(monkeypatch, hub, [], sites=["a"], inventory=["b"])
    assert (result["sites"] == ["a"], not result["failed"]) == (forgotten, forgotten)
    assert forgotten or "jane cannot list manifestworks" in result["msg"]


def test_a_teardown_hears_of_sites_that_would_lose_their_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the ledger with registered SuperNodes that it neither removes nor is to leave without one."""
    hub = Hub(joining="federated.flower", here="federated.flower")
    key = {"pool": "default", "name": "0", "public_key": "k", "node_id": "7"}
    for site in ("beyond", "here", "named"):
        hub.keep(site, keys={"SHA256:a": key})
    hub.keep("broken", keys="none")
    before = dict(hub.items)
    result = forget(monkeypatch, hub, [], sites="named", removed=["hub", "here"])
    assert result["others"] == ["beyond", "broken"] and not result["changed"] and hub.items == before
    assert forget(monkeypatch, hub, [], sites=[], removed=["hub", "here", "beyond", "broken"])["others"] == ["named"]


def test_a_hub_that_cannot_be_asked_is_a_warning_only_before_the_teardown(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()

    def silent(*_place: Any, **_more: Any) -> Any:
        raise ClusterError("hub: no answer.")

    monkeypatch.setattr(hub, "list", silent)
    result = forget(monkeypatch, hub, [], sites=[], removed=["hub"], validate=True)
    assert result["others"] == [] and result["warnings"] == ["cannot determine whether other sites need the hub: hub: no answer."]
    with pytest.raises(ClusterError, match="no answer"):
        forget(monkeypatch, hub, [], sites=[], removed=["hub"])
    with pytest.raises(ClusterError, match="flower_forget_sites is True"):
        forget(monkeypatch, hub, [], sites=True, removed=["hub"], validate=True)
