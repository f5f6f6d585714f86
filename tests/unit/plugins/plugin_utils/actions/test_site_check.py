# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites have to know of the hub is known to their checks also where the hub is in no play of the run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.unit.rows import each_row

RUN = SimpleNamespace(failed=lambda _site, _message: None)


def ledger_of_hub() -> Ledger:
    cluster: Any = None
    return Ledger(cluster, "fl", "demo")


def refuse(outcomes: Outcomes, check: Any, sites: dict[str, Site], hub: dict[str, Any], ledger: Any = ledger_of_hub) -> None:
    """Have one of the checks refuse sites."""
    for name, fault in (check(sites, sites, hub, ledger) if sites else {}).items():
        outcomes.fail(name, fault)


def known(monkeypatch: pytest.MonkeyPatch, hub: dict[str, Any], delivery: str = "direct", fault: str = "") -> tuple[dict[str, Any], Outcomes]:
    """What the checks know of the hub."""
    spec = SimpleNamespace(federation="demo")
    sites = {name: Site(name, spec, SiteAccess(delivery, "controller", "direct"), hub="hub", hub_namespace="fl") for name in ("site-a", "site-b")}
    outcomes = Outcomes(RUN, sites, 1)

    def identity(ledger: Any) -> str:
        if fault:
            raise ClusterError(fault)
        return f"{ledger.namespace}/{ledger.federation}"

    monkeypatch.setattr(Ledger, "identity", identity)
    action: Any = object.__new__(supernode.ActionModule)
    found = {**hub}
    refuse(outcomes, action._identity_faults, sites, found)
    return found, outcomes


def test_it_is_read_where_the_hub_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert known(monkeypatch, {})[0] == {"identity": "fl/demo"}
    assert known(monkeypatch, {"identity": "", "skew": 1})[0] == {"identity": "", "skew": 1}, "its ledger is older than identities"
    assert known(monkeypatch, {}, "ocm")[0] == {}, "such a site records none"


@each_row(
    ("hub", "there", "wrong"),
    [({"namespace": "fl"}, "fl", False), ({"namespace": "other"}, "fl", True), ({}, "fed-a", True), ({}, "fl", False)],
)
def test_a_site_that_looks_for_the_hub_elsewhere_is_refused(hub: dict[str, Any], there: str, wrong: bool) -> None:
    site = Site("site-a", SimpleNamespace(), SiteAccess("direct", "controller", "direct"), hub="hub", hub_namespace="fl")
    action: Any = object.__new__(supernode.ActionModule)
    action.inventory_host, action.task_vars = "site-a", {"hostvars": {"hub": {"flower_namespace": there}}}
    action._templar = SimpleNamespace(template=lambda value: value)
    found = action._hub_faults(site, hub)
    assert bool(found) == wrong and all("in fl (supernode_hub_namespace). Remove that variable" in one for one in found)


def test_a_site_is_not_deployed_without_knowing_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _hub, outcomes = known(monkeypatch, {}, fault="hub does not answer")
    assert outcomes.good() == [] and outcomes["site-b"].msg == "site-b: hub does not answer"


@pytest.mark.parametrize(
    ("other", "fixed", "count", "refused"),
    [("{index}", 0, 0, True), ("{partition}", 0, 0, False), ("{index}", "6", 0, False), ("{index}", "", 4, False), ("{index}", "", None, True)],
)
def test_a_site_that_asks_for_the_number_of_partitions_of_a_fleet_without_any_is_refused(
    parsed_site: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, other: str, fixed: object, count: int | None, refused: bool
) -> None:
    def read_book(_ledger: Any) -> dict[str, Any]:
        if count is None:
            raise ClusterError("hub does not answer")
        return {"partitions": count}

    sites = {"site-a": numbered(parsed_site, "site-a", "{partitions}"), "site-b": numbered(parsed_site, "site-b", other)}
    monkeypatch.setattr(Ledger, "read_book", read_book)
    outcomes = checked(sites, fixed)
    assert outcomes.good() == (["site-b"] if refused else ["site-a", "site-b"])
    words = "hub does not answer" if count is None else "node_config of pool cpu has {partitions}"
    assert not refused or f"site-a: {words}" in outcomes["site-a"].msg


def numbered(parsed_site: Callable[..., Any], name: str, number: str, replicas: int = 1) -> Site:
    spec = parsed_site(pools=[{"name": "cpu", "replicas": replicas, "node_config": {"n": number}}])
    return Site(name, spec, SiteAccess("direct", "controller", "direct"), hub="hub")


def checked(sites: dict[str, Site], fixed: object) -> Outcomes:
    outcomes = Outcomes(RUN, sites, 1)
    action: Any = object.__new__(supernode.ActionModule)
    action.variables_of = lambda _name: {"supernode_partitions": fixed}
    refuse(outcomes, action._numbers_faults, sites, {})
    return outcomes


@each_row(("fixed", "refused"), [(4, True), (5, False), (0, False)])
def test_fewer_partitions_than_supernodes_that_count_are_refused(parsed_site: Callable[..., Any], fixed: int, refused: bool) -> None:
    sites = {
        "site-a": numbered(parsed_site, "site-a", "{partition}", 3),
        "site-b": numbered(parsed_site, "site-b", "{partition}", 2),
        "site-c": numbered(parsed_site, "site-c", "{index}", 7),
    }
    outcomes = checked(sites, fixed)
    assert outcomes.good() == (["site-c"] if refused else [*sites])
    assert not refused or "flower_partitions is 4, and 5 SuperNodes of the sites of this run" in outcomes["site-b"].msg
    assert checked({}, 4).good() == []


@pytest.mark.parametrize("claim", [False, True])
def test_a_site_in_another_namespace_than_so_far_is_refused(monkeypatch: pytest.MonkeyPatch, claim: bool) -> None:
    """Also where the hub is in no play; one that does not answer now is asked again before the site is deployed."""
    spec = SimpleNamespace(federation="demo", namespace="ward")
    sites = {name: Site(name, spec, SiteAccess("direct", "controller", "direct"), hub="hub", claim=claim) for name in ("site-a", "site-b")}
    found = {"site-a": {"delivery": "direct", "namespace": "lab"}, "site-b": {"delivery": "direct", "namespace": "ward"}}
    action: Any = object.__new__(supernode.ActionModule)
    monkeypatch.setattr(Ledger, "read_sites", lambda _ledger: (found, {}))
    outcomes = Outcomes(RUN, sites, 1)
    refuse(outcomes, action._moved_faults, sites, {})
    assert outcomes.good() == (["site-a", "site-b"] if claim else ["site-b"])
    assert claim or "it is currently deployed in namespace lab" in outcomes["site-a"].msg

    def silent() -> Any:
        raise ClusterError("hub does not answer")

    outcomes = Outcomes(RUN, sites, 1)
    refuse(outcomes, action._moved_faults, sites, {}, silent)
    assert outcomes.good() == ["site-a", "site-b"]


@each_row(
    ("checked_hub", "has", "wants", "refused"),
    [
        ({}, "1.40.0", "1.41.0", True),
        ({}, "1.41.0", "1.41.0", False),
        ({}, "1.41.0", "1.40.0", False),
        ({}, None, "1.41.0", False),
        ({"flower": {"version": "1.41.0", "workloads": []}}, "1.40.0", "1.41.0", False),
        ({"flower": {"version": "1.40.0", "workloads": []}}, "1.41.0", "1.41.0", True),
    ],
)
def test_supernodes_are_never_newer_than_their_superlink(checked_hub: dict[str, Any], has: str | None, wants: str, refused: bool) -> None:
    """With a limit, the hub is not upgraded before them: what it has counts. An event deploys sites whose variables have changed that way."""
    published = None if has is None else {"data": {"version": has, "ca.crt": ""}}
    sites = {"site-a": Site("site-a", SimpleNamespace(version=wants), SiteAccess("direct", "controller", "direct"), hub="hub", hub_namespace="fl")}
    action: Any = object.__new__(supernode.ActionModule)
    hub = SimpleNamespace(cluster=SimpleNamespace(get=lambda *_place: published))
    outcomes = Outcomes(RUN, sites, 1)
    refuse(outcomes, action._version_faults, sites, checked_hub, lambda: hub)
    assert outcomes["site-a"].failed == refused
    assert not refused or "flower_version: 1.41.0 is newer than 1.40.0 of the hub hub" in outcomes["site-a"].msg
