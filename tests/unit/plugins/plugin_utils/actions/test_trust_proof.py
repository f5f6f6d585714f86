# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site's proof of trust means: a report, or the failure of the site."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import trust_proof
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes


class Recorded:
    """A run that keeps which sites failed."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def failed(self, site: str, message: str) -> None:
        self.failures[site] = message

    def note(self, site: str | None = None, **facts: Any) -> None:
        del site, facts

    def say_details(self, text: str) -> None:
        raise AssertionError(text)


class Way:
    """A site whose SuperNodes accept what the gateway serves, or a site that is down."""

    site = SimpleNamespace(spec=SimpleNamespace(ca_bundle="CA"))

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble

    def trust(self, wanted: Any, result: dict[str, Any]) -> None:
        del wanted
        if self.trouble:
            raise ClusterError(self.trouble)
        result["pods"] = [{"pool": "cpu", "pod": "supernode-cpu-0"}]


def prove(monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[Outcomes, dict[str, str]]:
    """Ask two sites, of which one is down."""
    action = object.__new__(trust_proof.ActionModule)
    ways = {"site-a": Way(""), "site-b": Way("site-b: the API server is unreachable")}
    monkeypatch.setattr(action, "reach", lambda sites: ways, raising=False)
    run = Recorded()
    outcomes = Outcomes(run, ways, 1)
    params = {
        "fleet": {}, "server_name": "superlink.demo", "wanted": {"now": "aa"}, "bundle": "", "because": {}, "first": False,
        "required": False, "wait_timeout": 1, **given,
    }  # fmt: skip
    action.work(params, dict.fromkeys(ways), outcomes)
    return outcomes, run.failures


def test_a_site_that_does_not_prove_it_is_a_report(monkeypatch):
    outcomes, failures = prove(monkeypatch)
    found = outcomes.as_dict()
    assert not failures and "failed" not in found["site-b"]
    assert found["site-b"]["trouble"] == found["site-b"]["msg"] == "site-b: the API server is unreachable"
    assert found["site-a"]["msg"] == "1 SuperNodes accept the served certificates" and not found["site-a"]["trouble"]


def test_a_site_that_has_to_prove_it_fails_alone(monkeypatch):
    outcomes, failures = prove(monkeypatch, required=True)
    assert failures == {"site-b": "site-b: the API server is unreachable"}
    found = outcomes.as_dict()
    assert found["site-b"]["failed"] and found["site-b"]["trouble"] and "failed" not in found["site-a"]


def test_a_site_that_is_excused_is_not_asked(monkeypatch):
    outcomes, failures = prove(monkeypatch, required=True, fleet={"site-b": {"excused": "it is denied"}})
    assert not failures and outcomes["site-b"].msg == "not asked: it is denied"
