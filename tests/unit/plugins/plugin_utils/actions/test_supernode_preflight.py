# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites have to know of the hub is known to their checks also where the hub is in no play of the run."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode_preflight
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import Site, Way
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes

RUN = SimpleNamespace(failed=lambda _site, _message: None)


def known(monkeypatch: pytest.MonkeyPatch, hub: dict[str, Any], delivery: str = "direct", fault: str = "") -> tuple[dict[str, Any], Outcomes]:
    """What the checks know of the hub."""
    spec = SimpleNamespace(federation="demo")
    sites = {name: Site(name, spec, Way(delivery, "controller", "direct"), hub="hub", hub_namespace="fl") for name in ("site-a", "site-b")}
    outcomes = Outcomes(RUN, sites, 1)

    def identity(ledger: Any) -> str:
        if fault:
            raise ClusterError(fault)
        return f"{ledger.namespace}/{ledger.federation}"

    monkeypatch.setattr(supernode_preflight.Ledger, "identity", identity)
    action: Any = object.__new__(supernode_preflight.ActionModule)
    action.connect = contextlib.nullcontext
    return action._with_identity(hub, sites, outcomes), outcomes


def test_it_is_read_where_the_hub_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known(monkeypatch, {})[0] == {"identity": "fl/demo"}
    assert known(monkeypatch, {"identity": "", "skew": 1})[0] == {"identity": "", "skew": 1}, "its ledger is older than identities"
    assert known(monkeypatch, {}, "ocm")[0] == {}, "such a site records none"


@pytest.mark.parametrize(
    ("hub", "there", "wrong"),
    [({"namespace": "fl"}, "fl", False), ({"namespace": "other"}, "fl", True), ({}, "fed-a", True), ({}, "fl", False)],
)
def test_a_site_that_looks_for_the_hub_elsewhere_is_refused(hub: dict[str, Any], there: str, wrong: bool) -> None:
    site = Site("site-a", SimpleNamespace(), Way("direct", "controller", "direct"), hub="hub", hub_namespace="fl")
    action: Any = object.__new__(supernode_preflight.ActionModule)
    action.inventory_host, action.task_vars = "site-a", {"hostvars": {"hub": {"flower_namespace": there}}}
    action._templar = SimpleNamespace(template=lambda value: value)
    found = action._hub_faults(site, hub)
    assert bool(found) == wrong and all("in fl (supernode_hub_namespace). Remove that variable" in one for one in found)


def test_a_site_is_not_deployed_without_knowing_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _hub, outcomes = known(monkeypatch, {}, fault="hub does not answer")
    assert outcomes.good() == [] and outcomes["site-b"].msg == "site-b: hub does not answer"


@pytest.mark.parametrize("claim", [False, True])
def test_a_site_in_another_namespace_than_so_far_is_refused(monkeypatch: pytest.MonkeyPatch, claim: bool) -> None:
    """Also where the hub is in no play; one that does not answer now is asked again before the site is deployed."""
    spec = SimpleNamespace(federation="demo", namespace="ward")
    sites = {name: Site(name, spec, Way("direct", "controller", "direct"), hub="hub", claim=claim) for name in ("site-a", "site-b")}
    found = {"site-a": {"delivery": "direct", "namespace": "lab"}, "site-b": {"delivery": "direct", "namespace": "ward"}}
    action: Any = object.__new__(supernode_preflight.ActionModule)
    action.connect = contextlib.nullcontext
    monkeypatch.setattr(supernode_preflight.Ledger, "read_sites", lambda _ledger: (found, {}))
    outcomes = Outcomes(RUN, sites, 1)
    action._refuse_moved(sites, outcomes)
    assert outcomes.good() == (["site-a", "site-b"] if claim else ["site-b"])
    assert claim or "it is deployed in namespace lab so far" in outcomes["site-a"].msg

    def silent(_host: str) -> Any:
        raise ClusterError("hub does not answer")

    action.connect, outcomes = silent, Outcomes(RUN, sites, 1)
    action._refuse_moved(sites, outcomes)
    assert outcomes.good() == ["site-a", "site-b"]
