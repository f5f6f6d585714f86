# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of the hub, which sites record, is known to the checks of sites also where the hub is in no play of the run."""

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


def test_a_site_is_not_deployed_without_knowing_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _hub, outcomes = known(monkeypatch, {}, fault="hub does not answer")
    assert outcomes.good() == [] and outcomes["site-b"].msg == "site-b: hub does not answer"
