# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that was renamed and takes over its namespace gets new keys: the hub has the others under its former name."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import recreate_superlink_pod, register
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.deploy import Options, Rollout
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.register import Registered, Registry
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import Answer
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import KeyResult, Site
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.unit import strange_crypto
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.kube.test_outdated import (
    CRASHED,
    RUNS,
    UNPULLED,
    pod,
    stateful_set,
)
from ansible_collections.federated.flower.tests.unit.recorded_run import RecordedRun
from ansible_collections.federated.flower.tests.unit.rows import each_row

LINES = [keypairs.supernode_public_key(keypairs.make_supernode_key()) for _one in range(2)]
KEYS = [{"pool": "cpu", "name": "0", "public_key": line, "fingerprint": keypairs.fingerprint(line)} for line in LINES]
RUN: Any = SimpleNamespace(check=True, note=lambda *_where, **_facts: None, stand_in=lambda _text: None, failed=lambda *_words: None)


class Hub(Cluster):
    """Its ledger has site-b with the first key."""

    def __init__(self) -> None:
        self.name = "hub"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    found = Registry(RUN, Hub(), "hub", "flower", "demo", 1)
    record = records.merge_keys(records.empty_record("site-b"), KEYS[:1], None)
    record["keys"][KEYS[0]["fingerprint"]]["node_id"] = "7"
    monkeypatch.setattr(found.ledger, "read_sites", lambda: ({"site-b": record}, {}))
    monkeypatch.setattr(found.ledger, "change_record", lambda _name, _change: True)
    monkeypatch.setattr(found, "client_store", lambda: SimpleNamespace(publish_and_load=lambda: False))
    return found


def test_keys_of_the_former_name_are_dead_for_the_one_that_claims_them(registry: Registry) -> None:
    held, outcomes = {"clinic-b": KeyResult(keys=KEYS[:1])}, Outcomes(RUN, ["clinic-b"], 1)
    first = registry.register(held, outcomes, {}, {}, ["clinic-b"])
    assert (first.dead, first.changed) == ({"clinic-b": [KEYS[0]["fingerprint"]]}, set())
    second = registry.register({"clinic-b": KeyResult(keys=KEYS[1:])}, outcomes, {}, {}, ["clinic-b"])
    assert (second.dead, second.changed) == ({"clinic-b": []}, {"clinic-b"})
    assert not outcomes["clinic-b"].failed
    registry.register(held, outcomes, {}, {})
    assert "it is the key of site-b" in outcomes["clinic-b"].msg


def test_which_sites_claim(parsed_site: Any) -> None:
    asked: list[Any] = []
    hub: Any = SimpleNamespace(register=lambda *given, **more: asked.append((given[-1], *more.values())) or Registered())
    sites = {name: Site(name, parsed_site(location=f"{len(name)},0"), access_of({}), claim=name == "clinic-b") for name in ("clinic-b", "site-a")}
    rollout = Rollout(RUN, hub, "hub", sites, {}, Outcomes(RUN, sites, 1), Options())
    rollout._register({name: KeyResult() for name in sites})
    assert asked == [(["clinic-b"], {name: ("direct", sites[name].namespace) for name in sites}, {"clinic-b": "8,0", "site-a": "6,0"})]


def test_a_record_has_the_place_of_its_site(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(registry.ledger, "change_record", lambda name, change: written.append(change(records.empty_record(name))))
    registry.register({"site-a": KeyResult(keys=KEYS[1:])}, Outcomes(RUN, ["site-a"], 1), {}, {}, places={"site-a": ("ocm", "lab")})
    assert [(record["delivery"], record["namespace"]) for record in written] == [("ocm", "lab")]


@pytest.mark.parametrize(("nodes", "lost"), [({}, 1), ({"7": {"status": "offline"}}, 0)])
def test_a_superlink_that_lost_its_database_is_noticed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, nodes: dict[str, Any], lost: int
) -> None:
    answers = [Answer(True, {"node-id": 8}, "")]
    described: list[tuple[str, str]] = []
    cli: Any = SimpleNamespace(nodes=lambda: nodes, register=lambda keys, more: described.extend(more) or answers[: len(keys)])
    monkeypatch.setattr(register, "FlowerCLI", lambda *_place: cli)
    monkeypatch.setattr(register, "Rescue", lambda *_given: SimpleNamespace(wait=lambda *_more: None))
    run = SimpleNamespace(**{**vars(RUN), "check": False})
    registry.run = run
    monkeypatch.setattr(registry, "_certify", lambda *_given: {})
    outcomes = Outcomes(run, ["site-b"], 1)  # type: ignore[arg-type]
    registry.register({"site-b": KeyResult(keys=KEYS[:1])}, outcomes, {}, {}, locations={"site-b": "-33.9,18.4"})
    assert described == [("site-b/cpu/0", "-33.9,18.4")] * lost
    assert ["does not know 1 of its SuperNodes any more" in one for one in outcomes["site-b"].warnings] == [True] * lost


def test_a_request_with_an_unknown_kind_of_key_fails_its_own_site(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "client_store", lambda: SimpleNamespace(read=lambda: None))
    requests = {"site-a": strange_crypto.request(), "site-b": certificates.client_request(keypairs.make_client_key(), "site-b")}
    merged, outcomes = {name: records.empty_record(name) for name in requests}, Outcomes(RUN, requests, 1)
    assert list(registry._certify({name: KeyResult(client_request=text) for name, text in requests.items()}, merged, outcomes)) == ["site-b"]
    assert list(merged) == outcomes.good() == ["site-b"] and "request for its client certificate cannot be used" in outcomes["site-a"].msg


MEANT = {"namespace": "flower", "uid": "old"}


class StuckHub:
    """The StatefulSet, and what is deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def get(self, _version: str, kind: str, _name: str, _namespace: str) -> dict[str, Any]:
        assert kind == "StatefulSet"
        return stateful_set()

    def delete(self, *_place: str, uid: str, **_how: str) -> None:
        self.deleted.append(uid)


class Line:
    """The command line: the pods that it finds, one wait after the other."""

    def __init__(self, *waits: list[dict[str, Any]]) -> None:
        self.waits = list(waits)

    def wait_for_superlink(self, _seconds: float, *, waiting: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        *unready, ready = self.waits.pop(0)
        for one in unready:
            waiting(one)
        return ready


NEW = pod(RUNS, ready=True, revision="superlink-2", namespace="flower", uid="new")


@each_row(
    ("waits", "deleted"),
    [
        ([[pod(CRASHED, **MEANT), NEW]], ["old"]),
        ([[pod(RUNS, UNPULLED, **MEANT)], [NEW]], ["old"]),  # the SuperLink runs, and its gateway never will
        ([[NEW]], []),
        ([[pod(RUNS, UNPULLED, revision="superlink-2", **MEANT)]], []),
    ],
)
def test_a_pod_with_a_former_template(waits: list[list[dict[str, Any]]], deleted: list[str]) -> None:
    hub, line, run = StuckHub(), Line(*waits), RecordedRun()
    recreate_superlink_pod.Rescue(run, hub, "hub", "f").wait(line, 1)  # type: ignore[arg-type]
    assert hub.deleted == deleted and not line.waits
    assert bool(run.said) is bool(deleted) and all("hub: pod superlink-0 was created again: it was not ready" in one for one in run.said)
    assert [f"{host}: {words}" for host, words in run.notes] == run.said
