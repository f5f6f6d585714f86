# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps on many sites: one that fails harms no other."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed, Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import StepResult
from ansible_collections.federated.flower.plugins.plugin_utils.state.parent import Abandoned
from ansible_collections.federated.flower.tests.unit import strange_crypto


class Run:
    """What outcomes need of a run."""

    check, show_diff = False, False

    def __init__(self) -> None:
        self.noted: list[tuple[str, list[Any]]] = []
        self.given_up: list[tuple[str, str]] = []

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        self.noted += [(str(site), list(found)) for found in facts.values()]

    def failed(self, site: str, message: str) -> None:
        self.given_up.append((site, message))

    def say_details(self, text: str) -> None:
        assert "Traceback" in text


@pytest.mark.parametrize("workers", [1, 4])
def test_one_guilty_site(workers: int) -> None:
    run = Run()
    outcomes = Outcomes(run, ["a", "b", "c"], workers)

    def step(name: str) -> str:
        if name == "b":
            raise ClusterError("its cluster does not answer")
        return name.upper()

    assert outcomes.each(step) == {"a": "A", "c": "C"}
    assert outcomes.good() == ["a", "c"]
    assert run.given_up == [("b", "b: its cluster does not answer")]
    assert outcomes.each(step, ["b", "c"]) == {"c": "C"}, "a site that failed is not worked on again"


def test_data_that_nobody_foresaw_ends_its_own_site_only() -> None:
    outcomes = Outcomes(Run(), ["a", "b"], 2)
    assert outcomes.each({"b": "B"}.__getitem__) == {"b": "B"}
    assert outcomes["a"].msg == "a: unexpected error, please report it: KeyError: 'a'"


@pytest.mark.parametrize(
    "read", [lambda: certificates.describe(strange_crypto.certificate()), lambda: keypairs.supernode_public_key(strange_crypto.supernode_key())]
)
def test_a_key_or_certificate_of_an_unknown_kind_ends_its_own_site_only(read: Callable[[], Any]) -> None:
    outcomes = Outcomes(Run(), ["a", "b"], 2)
    assert outcomes.each(lambda name: name if name == "b" else read()) == {"b": "b"}
    assert outcomes["a"].failed


def test_what_was_changed_before_an_error_is_recorded() -> None:
    outcomes = Outcomes(Run(), ["a"], 2)

    def step(_name: str) -> None:
        raise ApplyFailed("it broke", Result(objects=[{"kind": "Secret", "name": "s", "change": "deleted"}], changed=True))

    assert outcomes.each(step) == {} and outcomes["a"].failed and outcomes["a"].changed
    assert [one["name"] for one in outcomes["a"].objects] == ["s"]


def test_sites_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=60)
    outcomes = Outcomes(Run(), ["a", "b", "c"], 3)
    assert set(outcomes.each(lambda name: meeting.wait() >= 0)) == {"a", "b", "c"}


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_more_is_begun_after_the_end_of_the_playbook(workers: int) -> None:
    """A fork of a playbook that was killed is still there, and someone else may change the fleet soon."""
    run, worked = Run(), []
    outcomes = Outcomes(run, ["a", "b", "c", "d"], workers)

    def step(name: str) -> None:
        worked.append(name)
        outcomes.parent = os.getppid() + 1

    with pytest.raises(Abandoned, match="the playbook has ended, so nothing more is changed"):
        outcomes.each(step)
    assert len(worked) in range(1, workers + 1) and not run.given_up
    with pytest.raises(Abandoned):
        outcomes.each(step)
    assert len(worked) <= workers


@pytest.mark.parametrize(("soft", "hard", "given"), [(1024, 4096, []), (202, 4096, [203]), (100, 150, [150]), (100, 100, []), (-1, -1, []), (100, -1, [203])])
def test_as_many_connections_as_sites_may_be_open(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, given: list[int]) -> None:
    limits: list[int] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _which, pair: limits.append(pair[0]))
    Outcomes(Run(), "abc", 1)
    assert limits == given


def test_what_was_changed_is_noted_at_once_and_added_up() -> None:
    run = Run()
    outcomes = Outcomes(run, ["a"], 1)
    entry = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "x", "name": "y", "change": "created"}
    outcomes.add("a", StepResult(changed=True, objects=[entry], warnings=["old"]))
    outcomes.add("a", StepResult(objects=[{**entry, "change": "unchanged"}], warnings=["old"]))
    told = outcomes.as_dict()["a"]
    assert told["changed"] and told["warnings"] == ["old"] and len(told["objects"]) == 2
    assert [site for site, found in run.noted if found] == ["a"]
