# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which sites are judged while they join, and what the hub keeps."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode_acceptance
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records, records

NODES = {"1": {"status": "online"}, "2": {"status": "registered"}, "3": {"status": "offline"}}


def record(name: str, node: str, **more: Any) -> dict[str, Any]:
    """A site with one key."""
    key = {"pool": "cpu", "name": "0", "node_id": node, "public_key": "k", "dead": False}
    return {**records.empty_record(name), "keys": {"SHA256:a": key}, **more}


class Ledger:
    """The ledger of a hub, in memory."""

    def __init__(self, found: dict[str, Any], unreadable: dict[str, str], index: dict[str, Any], fault: str) -> None:
        self.found, self.unreadable, self.index, self.fault = found, unreadable, index, fault

    def read_sites(self) -> tuple[dict[str, Any], dict[str, str]]:
        return self.found, self.unreadable

    def read_book(self) -> dict[str, Any]:
        return {}

    def read(self, part: str) -> dict[str, Any]:
        return self.index

    def change(self, part: str, change: Any) -> bool:
        if self.fault:
            raise ClusterError(self.fault)
        self.index = change(self.index)
        return True


class Unasked:
    """The way to a site whose pods cannot be asked."""

    def measure(self, published: dict[str, str], idle: float) -> None:
        return None

    def close(self) -> None:
        """There is no connection."""


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Function: verify the sites of some records; the sites of the result, the result, and the ledger."""

    def run(
        found: dict[str, Any], *, unreadable: Any = (), index: Any = None, fault: str = "", direct: Any = (), insecure: bool = False, **given: Any
    ) -> Any:
        ledger = Ledger(found, dict(unreadable), index or {}, fault)
        monkeypatch.setattr(supernode_acceptance, "Ledger", lambda *_place, **_more: ledger)
        monkeypatch.setattr(supernode_acceptance, "FlowerCLI", lambda *_place: SimpleNamespace(nodes=lambda: NODES))
        monkeypatch.setattr(supernode_acceptance.partitions, "publication", lambda *_place, **_more: {})
        action: Any = object.__new__(supernode_acceptance.ActionModule)
        action._task = SimpleNamespace(check_mode=False)
        action.connect = lambda _hub: contextlib.nullcontext(None)
        action.reach = lambda sites: dict.fromkeys(sites, Unasked())
        action._clock = lambda _hub, _namespace: 0.0
        names = [*found, *dict(unreadable)]
        notes = SimpleNamespace(failed=lambda _site, _words: None, note=lambda *_a, **_k: None, say_details=pytest.fail)
        outcomes = Outcomes(notes, names, 1)
        spec: Any = SimpleNamespace(insecure=insecure, namespace="flower", federation="demo")
        sites = {name: Site(name, spec, SiteAccess("direct" if name in direct else "bundle", "site", "direct")) for name in names}
        params = {"round_trip": 500, "upload": 8, "idle": 0.0, "joining": False, **given}
        result = action.work(params, sites, outcomes)
        return {name: one.facts for name, one in outcomes.sites.items()}, result, ledger

    return run


def test_supernodes_without_keys_are_not_said_to_be_offline(verify: Any) -> None:
    sites, _result, _ledger = verify({"a": records.empty_record("a")}, insecure=True)
    assert sites["a"]["reasons"] == [] and {one["verdict"] for one in sites["a"]["checks"]} == {"not checked"}


def test_pods_that_cannot_be_asked_count_by_what_the_hub_sees(verify: Any) -> None:
    sites, result, ledger = verify({"a": record("a", "1"), "b": record("b", "3")})
    assert [sites[name]["accepted"] for name in "ab"] == [True, False]
    assert sites["b"]["reasons"] == ["SuperNodes: 0 of 1 are online; see status.yml"] and result["warnings"] == []
    assert "checks" in sites["a"] and set(ledger.index["sites"]["a"]) == {"at", "score", "accepted", "reasons"}


def test_a_supernode_that_serves_with_a_key_that_leaves_is_online(verify: Any) -> None:
    found = record("a", "2")
    found["keys"]["SHA256:old"] = {**found["keys"]["SHA256:a"], "node_id": "1", "leaving": True}
    assert verify({"a": found})[0]["a"]["accepted"]


def test_sites_that_have_not_come_are_not_judged_while_they_join(verify: Any) -> None:
    """Such as one with a bundle that is not answered, or answered and not applied, or that is not back yet."""
    found = {
        "new": records.empty_record("new"),
        "answered": record("answered", "2"),
        "here": record("here", "1"),
        "away": record("away", "3"),
        "later": record("later", "3"),
        "denied": access_records.deny(record("denied", "1"), "a break-in", "2026-11-21T10:00:00+00:00"),
        "passed": record("passed", "3"),
    }
    index = {"sites": {"passed": {"at": "x", "accepted": True, "score": 100, "reasons": []}}}
    sites, _result, ledger = verify(found, unreadable={"torn": "not JSON"}, index=index, direct=["new", "away"], joining=True)
    assert {name: one["accepted"] for name, one in sites.items()} == {"here": True, "away": False, "torn": False}
    assert set(ledger.index["sites"]) == {"passed", "here", "away", "torn"}


def test_results_that_cannot_be_kept_are_shown(verify: Any) -> None:
    sites, result, _ledger = verify({"a": record("a", "1")}, fault="Too long: must have at most 1048576 bytes")
    assert sites["a"]["accepted"] and result["table"][0].endswith("accepted")
    (warning,) = result["warnings"]
    assert "the results cannot be stored on the hub" in warning and "Too long" in warning


def test_what_earlier_releases_kept_is_shortened(verify: Any) -> None:
    old = {"at": "x", "accepted": True, "score": 100, "reasons": [], "checks": [{"name": "name"}] * 20}
    _sites, _result, ledger = verify({"a": record("a", "1")}, index={"sites": {"b": old}})
    assert ledger.index["sites"]["b"] == {"at": "x", "accepted": True, "score": 100, "reasons": []}
