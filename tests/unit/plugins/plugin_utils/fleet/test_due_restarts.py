# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A restart that an earlier run owed a site comes before anything is applied there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import deploy
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.register import Registered
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import KeyResult, Restart, StepResult
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.fleet.test_outcome import Run

BUSY = "pods must be restarted, which would fail run 1"


class Way:
    """The way to a site: what was done there, in order."""

    def __init__(self, *, busy: bool = False) -> None:
        self.done: list[Any] = []
        self.busy = busy

    def restart(self, wanted: Restart, result: dict[str, Any]) -> None:
        self.done.append(list(wanted.files))
        if self.busy:
            raise ClusterError(BUSY)
        wanted.online("cpu")
        result["changed"] = True

    def close(self) -> None:
        """There is no connection."""


@pytest.fixture
def rollout(monkeypatch):
    def made(keys: dict[str, KeyResult], *, busy: bool = False, renew: tuple[str, ...] = ()) -> deploy.Rollout:
        ways = {name: Way(busy=busy) for name in keys}
        found = deploy.Rollout(Run(), None, "hub", {}, ways, Outcomes(Run(), keys, 1), deploy.Options(renew=renew))
        monkeypatch.setattr(found, "_keys", lambda _chosen: keys)
        monkeypatch.setattr(found, "_register", lambda _keys: Registered())
        monkeypatch.setattr(found, "_apply", lambda name: ways[name].done.append("apply") or StepResult())
        monkeypatch.setattr(found, "_await_online", lambda name, _pool: ways[name].done.append("online"))
        for later in ("note_datasets", "_note_nodes", "_confirm"):
            monkeypatch.setattr(found, later, lambda *_args: None)
        monkeypatch.setattr(deploy.online, "wait", lambda *_given: {})
        return found

    return made


def test_it_comes_first_and_the_end_of_the_run_waits_for_its_supernodes(rollout):
    found = rollout(
        {"a": KeyResult(due=["supernode-superexec"]), "b": KeyResult(renewed=["supernode-superexec"]), "c": KeyResult()}
    )
    found._deploy(["a", "b", "c"])
    assert {name: way.done for name, way in found.backends.items()} == {
        "a": [["superexec", "loopback"], "apply"],
        "b": ["apply", ["key", "superexec", "loopback"], "online"],
        "c": ["apply"],
    }
    assert [found.outcomes[name].changed for name in "abc"] == [True, True, False]


def test_while_it_is_impossible_its_site_fails_and_no_other(rollout):
    found = rollout({"a": KeyResult(due=["supernode-local-tls"]), "b": KeyResult()}, busy=True)
    found._deploy(["a", "b"])
    assert found.outcomes["a"].msg == f"a: {BUSY}" and found.outcomes.good() == ["b"]
    assert [found.backends[name].done for name in "ab"] == [[["superexec", "loopback"]], ["apply"]]


def test_new_keys_restart_every_supernode_anyway(rollout):
    found = rollout({"a": KeyResult(due=["supernode-superexec"])}, renew=(deploy.KEYS,))
    found._deploy(["a"])
    assert found.backends["a"].done == ["apply", ["key"], "online"]


def test_after_a_wait_for_runs_that_was_in_vain_no_further_site_gets_new_keys(rollout, monkeypatch):
    """Each of them would wait for as long again, for the same run, and the lease is held meanwhile."""
    waits = []

    def wait_no_run(_cli, seconds, _say):
        waits.append(seconds)
        raise ClusterError(f"{BUSY}.")

    found = rollout({name: KeyResult() for name in "abc"}, renew=(deploy.KEYS,))
    hub = SimpleNamespace(ledger=SimpleNamespace(read_sites=lambda: ({}, {}), read_book=lambda: {}), hub=None, namespace="flower")
    monkeypatch.setattr(found, "hub", hub)
    monkeypatch.setattr(found.run, "say", print, raising=False)
    monkeypatch.setattr(found, "detect_platforms", lambda: None)
    monkeypatch.setattr(deploy, "FlowerCLI", lambda *_given: SimpleNamespace(nodes=lambda: {}))
    monkeypatch.setattr(deploy.restart_conditions, "wait_no_run", wait_no_run)
    for way in found.backends.values():
        monkeypatch.setattr(way, "restart", lambda wanted, _result: wanted.gate())
    asked = []
    keys = found._keys
    monkeypatch.setattr(found, "_keys", lambda chosen: asked.extend(chosen) or {name: keys(chosen)[name] for name in chosen})
    found.deploy()
    assert (asked, waits) == (["a"], [3600])
    assert found.outcomes["a"].msg == f"a: {BUSY}."
    late = f"it was not reached, because the restart of a site before it failed: {BUSY}"
    assert [found.outcomes[name].msg for name in "bc"] == [f"b: {late}", f"c: {late}"] and found.outcomes.good() == []
