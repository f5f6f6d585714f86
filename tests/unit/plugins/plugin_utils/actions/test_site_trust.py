# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site's proof of trust means: a report, or the failure of the site."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.action import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.rights.ask import MissingRights
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_results import sites_failed
from ansible_collections.federated.flower.tests.unit.read import trusted, yaml_file


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
            raise (MissingRights if "may not" in self.trouble else ClusterError)(self.trouble)
        result["pods"] = [{"pool": "cpu", "pod": "supernode-cpu-0"}]


def prove(monkeypatch: pytest.MonkeyPatch, trouble: str = "site-b: the API server is unreachable", **given: Any) -> tuple[Outcomes, dict[str, str]]:
    """Ask two sites, of which one is down."""
    action = object.__new__(supernode.ActionModule)
    ways = {"site-a": Way(""), "site-b": Way(trouble)}
    monkeypatch.setattr(action, "reach", lambda sites: ways, raising=False)
    run = Recorded()
    outcomes = Outcomes(run, ways, 1)
    params = {
        "fleet": {}, "server_name": "superlink.demo", "wanted": {"now": "aa"}, "bundle": "", "because": {}, "first": False,
        "alone": False, "required": False, "wait_timeout": 1, **given,
    }  # fmt: skip
    action.prove_trust(params, dict.fromkeys(ways), outcomes)
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


def test_a_site_without_rights_keeps_no_other_from_the_certificate_of_the_gateway(monkeypatch):
    """A token without a right, or a kubeconfig that is gone, must not keep all sites on a certificate that ends."""
    with pytest.raises(ClusterError, match="may not"):
        prove(monkeypatch, "site-b: the identity may not: create pods/exec", first=True)
    outcomes, failures = prove(monkeypatch, "site-b: the identity may not: create pods/exec", first=True, alone=True)
    assert list(failures) == ["site-b"] and not outcomes.as_dict()["site-a"]["trouble"]

    (block,) = yaml_file("roles", "cert_rotation", "tasks", "rotate.yml")
    ask, leave_out = block["block"][:2]
    given = {"__cert_rotation_results": [], "__cert_rotation_before": {"sites": outcomes.as_dict()}}
    for parts, alone in ((["leaf"], True), (["leaf", "ca"], False), (["sites"], False)):
        templar = Templar(loader=DataLoader(), variables={**given, "__cert_rotation_look": {"parts": parts}})
        assert templar.template(trusted(ask["federated.flower.supernode"]["alone"])) is alone
    kept = templar.template(trusted(leave_out["ansible.builtin.set_fact"]["__cert_rotation_results"]))
    assert sites_failed(kept) == ["site-b"] and list(kept[0]) == ["site-b"]
