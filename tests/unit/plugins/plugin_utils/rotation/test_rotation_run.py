# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a rotation: what the hub does, when sites are asked, and what stops it."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import (
    ca_state,
    machine,
    rotation_run,
    targets,
)
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Proof
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import LedgerError

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
OLD, NEW = (certificates.make_ca(name, 100 * DAY) for name in ("old", "new"))
OPTIONS = {
    "rotate": "due", "certificates_source": "builtin", "renew_before": "", "ca_renew_before": "", "grace": 0, "wait": 0, "wait_timeout": 7, "proof_timeout": 5,
    "force": False,
}  # fmt: skip


class Hub:
    """A hub that does what it is told."""

    cluster = SimpleNamespace(name="hub", skew=None)

    def __init__(self, source: str = "builtin", log: list[str] | None = None) -> None:
        self.settings = SimpleNamespace(handed_in=None, namespace="flower", ca_namespace="flower-ca", federation="demo")
        self.gateway = SimpleNamespace(secret=lambda: "superlink-gateway-tls" if source == "builtin" else "mine")
        self.warnings: list[str] = []
        self.log = [] if log is None else log
        self.state = ca_state.State(Authority(OLD))
        leaf = machine.Leaf("1", machine.BY_CURRENT, True, "1")
        self.known = machine.Facts(NOW, published=OLD.certificate, leaf=leaf)

    def is_deployed(self) -> bool:
        return True

    def publication(self) -> dict[str, Any]:
        return {"data": {"server_name": "hub.example", "address": "hub.example:9092"}}

    def ca(self) -> tuple[dict[str, Any], ca_state.State]:
        return {}, self.state

    def facts(self, state: Any, now: datetime.datetime) -> machine.Facts:
        return replace(self.known, now=now)

    def gateway_secret(self) -> dict[str, Any]:
        return {}

    def do(self, step: machine.Step, now: datetime.datetime) -> None:
        self.log.append(step.name)
        self.state, self.known = machine.after_step(step, self.state, replace(self.known, now=now), NEW)

    def issue(self) -> None:
        self.log.append("issue")
        self.known = replace(self.known, leaf=machine.Leaf("2", machine.BY_CURRENT, True, "1"))

    def serve(self) -> None:
        self.log.append("serve")
        self.known = replace(self.known, leaf=replace(self.known.leaf, served=self.known.leaf.serial))


class Sites:
    """Sites that accept what they are asked for, but for their C(troubles); the C(stale) ones do after a restart."""

    def __init__(
        self,
        names: Sequence[str],
        log: list[str],
        troubles: Mapping[str, str] | None = None,
        stale: Collection[str] = (),
    ) -> None:
        self.names, self.log, self.troubles, self.stale = list(names), log, dict(troubles or {}), set(stale)
        self.failed: dict[str, str] = {}
        self.ends_after = ""
        self.asked: list[Any] = []

    def require_playbook(self) -> None:
        if self.ends_after in self.log:
            raise ClusterError("the playbook has ended")

    def good(self) -> list[str]:
        return [name for name in self.names if name not in self.failed]

    def faults(self) -> dict[str, str]:
        return self.failed

    def prove(self, proof: Proof, expected: Mapping[str, Any], because: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
        assert proof.seconds == 5
        self.asked.append(SimpleNamespace(required=required, first=proof.first, bundle=proof.bundle, wanted=proof.wanted))
        self.log.append(f"prove at {', '.join(expected)}")
        found = {}
        for name in expected:
            is_stale = name in self.stale and bool(proof.bundle)
            trouble = self.troubles.get(name, "") or ("it runs with the bundle of its start" if is_stale else "")
            seen = {} if trouble else {label: {"serial": serial or "1"} for label, serial in proof.wanted.items()}
            accepts = [one["serial"] for one in seen.values()]
            report = {"site": name, "trust": proof.bundle or OLD.certificate, "accepts": accepts, "trouble": trouble, "stale": is_stale}
            found[name] = {**report, "pods": [{"pod": "cpu-0", "seen": seen}]}
            if trouble and required:
                self.failed[name] = f"{name}: {trouble}"
        return found

    def restart(self, names: Collection[str], files: Sequence[str], mark: str = "") -> dict[str, Any]:
        self.log.append(f"restart {', '.join(names)} for {', '.join(files)}")
        self.stale -= set(names)
        return {name: {"site": name, "trouble": self.troubles.get(name, ""), "renewed": name not in self.troubles} for name in names}

    def renew(self, kinds: Sequence[str]) -> None:
        self.log.append(f"renew {', '.join(kinds) or 'what is due'}")


class Internal:
    """The hub's own secrets."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.words: list[str] = []

    def started(self) -> str | None:
        return None

    def begin(self, now: datetime.datetime) -> str:
        return "mark"

    def make(self, mark: str) -> list[str]:
        self.log.append("make secrets")
        return ["a", "b"]

    def restart(self, seconds: float) -> list[str]:
        self.log.append("restart the hub")
        return ["superlink-0"]

    def complete(self, words: str) -> bool:
        self.words.append(words)
        return True


def record(site: str, **more: Any) -> dict[str, Any]:
    key = {"pool": "cpu", "name": "0", "node_id": site, "dead": False}
    return {"keys": {f"SHA256:{site}": key}, **more}


def rotation(monkeypatch: pytest.MonkeyPatch, hub: Hub, records: Mapping[str, Any], away: Collection[str] = (), **options: Any) -> Any:
    """A rotation of sites of the ledger, of which some are offline."""
    ledger = SimpleNamespace(read_book=lambda: {"denied": {}}, read_sites=lambda: (records, {}))
    nodes = {site: {"status": "offline" if site in away else "online"} for site in records}
    monkeypatch.setattr(rotation_run.restart_conditions, "wait_no_run", lambda *_given: hub.log.append("wait for runs"))
    monkeypatch.setattr(rotation_run.ask, "require", lambda *_given: None)
    cli = SimpleNamespace(nodes=lambda *_given: nodes)
    made: Any = rotation_run.Rotation
    found = made(hub, ledger, cli, {**OPTIONS, **options}, lambda line: None)
    found.book, found.records, found._internal = {"denied": {}}, records, Internal(hub.log)
    return found


RECORDS = {"a": record("a"), "b": record("b")}
TRUST = ["begin", "publish", "issue_next", "serve_next"]
SWITCH = ["switch", "issue", "serve"]
ASK = "prove at a, b"


def test_the_ca_is_replaced_in_three_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    run, sites = rotation(monkeypatch, hub, RECORDS), Sites("ab", hub.log)
    run.run({"ca": "asked"}, sites)
    assert hub.log == [ASK, *TRUST, ASK, *SWITCH, ASK, "drop", "publish", ASK, "remove_next", "finish"]
    assert hub.state.phase == ca_state.IDLE and hub.state.authority.current == NEW and run.changed
    first, trust, switched, dropped = sites.asked
    assert first.first and not first.bundle and not trust.first
    assert [one.bundle for one in (trust, switched, dropped)] == [OLD.certificate + NEW.certificate] * 2 + [NEW.certificate]
    assert (set(trust.wanted), set(switched.wanted)) == ({"now", "next"}, {"now"})
    assert len(run.handshakes) == 3 and all(line.endswith("yes  yes") for line in run.handshakes[1:])


def test_a_grace_period_ends_the_run_and_the_next_one_asks_and_completes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    run = rotation(monkeypatch, hub, RECORDS, grace=3600)
    run.run({"ca": "asked"}, Sites("ab", hub.log))
    assert hub.state.phase == ca_state.SWITCHED and "waiting until" in run.done[-1]
    hub.log.clear()
    waiting = rotation(monkeypatch, hub, RECORDS, grace=3600)
    waiting.run({"ca": "begun"}, Sites("ab", hub.log))
    assert hub.log == [ASK, ASK] and not waiting.changed, "a wait is no change"
    rotation(monkeypatch, hub, RECORDS).run({"ca": "begun"}, Sites("ab", hub.log))
    assert hub.state.phase == ca_state.IDLE and "begin" not in hub.log


def test_a_site_that_is_down_holds_it_up_and_force_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    run = rotation(monkeypatch, hub, RECORDS)
    with pytest.raises(ClusterError, match="the rotation of the CA stays adding until this is resolved: b: no answer"):
        run.run({"ca": "asked"}, Sites("ab", hub.log, {"b": "no answer"}))
    assert hub.state.phase == ca_state.ADDING and run.changed and run.handshakes[-1] == "! b: no answer"
    rotation(monkeypatch, hub, RECORDS, force=True).run({"ca": "begun"}, Sites("ab", hub.log, {"b": "no answer"}))
    assert hub.state.phase == ca_state.IDLE


def test_a_site_that_this_run_does_not_reach_holds_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    with pytest.raises(ClusterError, match="b: the ledger has it, but this run does not reach it"):
        rotation(monkeypatch, hub, RECORDS).run({"ca": "asked"}, Sites("a", hub.log))
    denied = {**RECORDS, "b": record("b", access={"state": "denied", "since": "yesterday"})}
    rotation(monkeypatch, hub, denied).run({"ca": "begun"}, Sites("a", hub.log))
    assert hub.state.phase == ca_state.IDLE


def test_no_ca_signs_while_a_supernode_is_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    with pytest.raises(ClusterError, match="stays adding until this is resolved: b: cpu/0 is offline"):
        rotation(monkeypatch, hub, RECORDS, away="b").run({"ca": "asked"}, Sites("ab", hub.log))
    assert "switch" not in hub.log
    hub.known = replace(hub.known, current_valid=False)
    rotation(monkeypatch, hub, RECORDS, away="b").run({"ca": "begun"}, Sites("ab", hub.log))
    assert hub.state.phase == ca_state.IDLE, "with a CA that has expired, none can be online"


def test_supernodes_that_read_their_trust_once_are_restarted_and_prove_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = Hub()
    rotation(monkeypatch, hub, RECORDS).run({"ca": "asked"}, Sites("ab", hub.log, stale="b"))
    assert hub.log[: len(TRUST) + 5] == [ASK, *TRUST, ASK, "restart b for trust", "prove at b", "switch"]


def test_sites_that_never_accept_do_not_make_it_run_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    sites: Any = Sites("ab", hub.log)
    nothing = {"trust": None, "accepts": [], "trouble": "", "stale": False, "pods": []}
    monkeypatch.setattr(sites, "prove", lambda _proof, expected, _because, **_more: {name: {**nothing, "site": name} for name in expected})
    with pytest.raises(ClusterError, match="changed by another run"):
        rotation(monkeypatch, hub, RECORDS).run({"ca": "asked"}, sites)


@pytest.mark.parametrize("kind", targets.KINDS)
def test_a_clock_that_is_ahead_stops_it_before_anything_is_changed(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Also before sites have keys that their present certificates do not fit."""
    hub = Hub()
    hub.cluster = SimpleNamespace(name="hub", skew=-3600.0)
    run = rotation(monkeypatch, hub, RECORDS)
    with pytest.raises(ClusterError, match="the clock of the control node is 60 minutes ahead of that of hub"):
        run.run({kind: "asked"}, Sites("ab", hub.log))
    assert hub.log == [] and not run.changed


def test_the_gateway_gets_a_new_certificate_although_a_site_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sites depend on it, and it needs nothing of any of them. Everything else stops before anything is changed."""
    hub = Hub()
    sites = Sites("ab", hub.log)
    sites.failed["b"] = "b: it may not exec"
    run = rotation(monkeypatch, hub, RECORDS)
    run.run({"leaf": "old"}, sites)
    assert hub.log == ["prove at a", "issue", "serve", "prove at a"] and sites.asked[-1].wanted == {"now": "2"} and sites.asked[-1].required
    assert run.done == ["the gateway serves certificate 2, before that it served 1"]
    for todo in ({"ca": "asked"}, {"leaf": "old", "ca": "begun"}, {"client": "old"}, {"superexec": "asked"}):
        hub.log.clear()
        with pytest.raises(ClusterError, match="b: it may not exec"):
            rotation(monkeypatch, hub, RECORDS).run(todo, sites)
        assert hub.log == ["prove at a"]


def test_a_certificate_that_was_issued_is_served_and_not_issued_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    rotation(monkeypatch, hub, RECORDS).run({"leaf": rotation_run.targets.UNSERVED}, Sites("ab", hub.log))
    assert hub.log == [ASK, "serve", ASK]


@pytest.mark.parametrize("step", [ASK, "publish", "switch", "drop"])
def test_the_hub_is_left_as_it_is_after_the_end_of_the_playbook(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    hub = Hub()
    sites = Sites("ab", hub.log)
    sites.ends_after = step
    with pytest.raises(ClusterError, match="the playbook has ended"):
        rotation(monkeypatch, hub, RECORDS).run({"ca": "asked"}, sites)
    assert hub.log[-1] == step


@pytest.mark.parametrize(
    ("rotate", "todo", "log"),
    [
        ("supernode_keys", "supernode_keys", ["wait for runs", "renew keys"]),
        ("client", "client", ["renew client"]),
        ("due", "client", ["renew what is due"]),
    ],
)
def test_what_sites_replace(monkeypatch: pytest.MonkeyPatch, rotate: str, todo: str, log: list[str]) -> None:
    hub = Hub()
    rotation(monkeypatch, hub, RECORDS, rotate=rotate).run({todo: "asked"}, Sites("ab", hub.log))
    assert hub.log == [ASK, *log]


def test_a_site_that_is_offline_stops_restarts_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for names, words in (("ab", "cpu/0 is offline. Start"), ("a", "cpu/0 is offline .not in this run.. Start")):
        hub = Hub()
        with pytest.raises(ClusterError, match=f"b: {words}.*-e cert_rotation_force=true"):
            rotation(monkeypatch, hub, RECORDS, away="b", rotate="supernode_keys").run({"supernode_keys": "asked"}, Sites(names, hub.log))
        assert not any(line.startswith("renew") for line in hub.log)


def test_secrets_are_replaced_at_the_hub_then_at_the_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    run = rotation(monkeypatch, hub, {**RECORDS, "c": {"keys": {}}})
    run.run({"superexec": "asked"}, Sites("abc", hub.log))
    assert hub.log[1:] == ["wait for runs", "make secrets", "restart the hub", "restart a, b for superexec"]
    assert run._internal.words == ["all shared secrets and internal certificates are new"] and run.changed


def test_a_site_that_was_left_out_is_not_said_to_have_new_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    run = rotation(monkeypatch, hub, RECORDS)
    with pytest.raises(ClusterError, match="not every site has its new secrets yet: b: no answer"):
        run.run({"superexec": "asked"}, Sites("ab", hub.log, {"b": "no answer"}))
    assert run._internal.words == []
    forced = rotation(monkeypatch, hub, RECORDS, force=True)
    forced.run({"superexec": "asked"}, Sites("a", hub.log))
    assert "not those of excluded sites: b: not in this run" in forced.done[-1]
    assert "rotate superexec again" in hub.warnings[0] and forced._internal.words == [forced.done[-1]]


# ---- what is due -----------------------------------------------------------------------------------------------------


def of_clients(monkeypatch: pytest.MonkeyPatch, names: Collection[str], **options: Any) -> dict[str, Any]:
    """What is due if site-a and site-gone have a client certificate of which more than half of the lifetime is over."""
    request = certificates.client_request(keypairs.make_client_key(), "a site")
    aged = certificates.sign_client_request(OLD, request, "a site", "demo", 90 * DAY, NOW - 60 * DAY)
    records = {name: {"keys": {}, "client": {"certificate": aged}} for name in ("site-a", "site-gone")}
    run = rotation(monkeypatch, Hub("existing"), records, certificates_source="existing", **options)
    found: dict[str, Any] = run.due(names, check=True)
    return found


def test_what_is_due_at_a_site_that_this_run_does_not_reach_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a site that has left the inventory, and stays in the ledger until it is forgotten, it would be due for ever."""
    found = of_clients(monkeypatch, ["site-a"])
    assert "site-a: more than half" in found["todo"]["client"] and "site-gone" not in found["todo"]["client"]
    assert found["msg"].startswith("client: site-a: more than half") and "nothing restarts" in found["msg"]
    found = of_clients(monkeypatch, ["site-b"])
    assert (found["todo"], found["msg"]) == ({}, "nothing is due")
    assert list(of_clients(monkeypatch, ["site-b"], rotate="client")["todo"]) == ["client"], "what is requested is done at any site"


@pytest.mark.parametrize("rotate", ["due", "ca"])
def test_nothing_is_rotated_while_a_record_cannot_be_read(monkeypatch: pytest.MonkeyPatch, rotate: str) -> None:
    """A schedule must fail, since certificates would end otherwise."""
    run = rotation(monkeypatch, Hub(), {}, rotate=rotate)
    run.ledger.read_sites = lambda: ({}, {"b": "b: its record is damaged"})
    with pytest.raises(LedgerError, match="damaged"):
        run.due(["b"], check=False)
