# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill undoes what it broke: when it is done, when it fails, and as far as it can when its playbook has ended."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.drill import conducting
from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_table as table
from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_verdict as verdict
from ansible_collections.federated.flower.plugins.plugin_utils.drill.bench import Bench, Options
from ansible_collections.federated.flower.plugins.plugin_utils.drill.drill_verdict import Measured
from ansible_collections.federated.flower.plugins.plugin_utils.lease.parent import Abandoned

DRILL = table.DRILLS["site_cut"]


class Kept:
    """The mark, in memory."""

    def __init__(self) -> None:
        self.mark: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        return self.mark

    def begin(self, drill: str, now: str, facts: Mapping[str, Any]) -> None:
        self.mark = {"drill": drill, "started": now, "facts": dict(facts)}

    def add(self, facts: Mapping[str, Any]) -> None:
        self.mark["facts"].update(facts)

    def end(self) -> None:
        self.mark = {}


class Spoken:
    """A run that keeps what it records."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def say(self, text: str) -> None:
        self.words.append(text)

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        self.words += [str(one) for listed in facts.values() for one in listed]


class Broken:
    """What is broken: conducts what the test says, and counts how often it was undone."""

    place = "site-a"

    def __init__(self, step: Any, *, is_quick: bool = True) -> None:
        self.step, self.is_quick, self.undone = step, is_quick, []  # type: ignore[var-annotated]

    def facts(self) -> dict[str, Any]:
        return {"site": "site-a"}

    def conduct(self) -> Measured:
        found = self.step()
        assert isinstance(found, Measured)
        return found

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        self.undone.append(dict(facts))
        return ["site-a was admitted again"] if len(self.undone) == 1 else []


@pytest.fixture
def bench() -> Bench:
    kept = Kept()
    made = Bench(Spoken(), SimpleNamespace(name="hub"), None, "ca", Options(), ["site-a"], None)  # type: ignore[arg-type]
    made.__dict__["store"] = kept
    return made


def conduct(bench: Bench, broken: Broken, monkeypatch: pytest.MonkeyPatch, refused: list[str] | None = None) -> dict[str, Any]:
    monkeypatch.setattr(conducting, "refusals", lambda *_: ({DRILL.name: broken}, refused or []))
    return conducting.conduct(bench, DRILL, 60, None, 10)


def test_all_is_undone_at_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def step() -> Measured:
        assert bench.store.read()["facts"] == {"site": "site-a"}, "it is kept before anything is broken"
        return Measured(2, 2, 11.0, "cut off")

    broken = Broken(step)
    row = conduct(bench, broken, monkeypatch)
    assert row["result"] == verdict.MET
    assert row["note"] == "cut off; site-a was admitted again"
    assert broken.undone == [{"site": "site-a"}]
    assert bench.store.read() == {}
    assert [words for words in bench.run.words if "site_cut at site-a: met" in words]  # type: ignore[attr-defined]


def test_all_is_undone_when_it_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def step() -> Measured:
        raise ClusterError("the API server does not answer")

    broken = Broken(step)
    row = conduct(bench, broken, monkeypatch)
    assert (row["result"], row["seconds"]) == (verdict.FAILED, None)
    assert "does not answer" in row["note"]
    assert len(broken.undone) == 1
    assert bench.store.read() == {}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_all_is_undone_after_any_error(bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def step() -> Measured:
        raise error

    broken = Broken(step)
    with pytest.raises(error):
        conduct(bench, broken, monkeypatch)
    assert len(broken.undone) == 1
    assert bench.store.read() == {}


@pytest.mark.parametrize("is_quick", [True, False])
def test_when_its_playbook_has_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch, is_quick: bool) -> None:
    """What takes long is left to the next run, which has the lease."""
    bench.parent = os.getppid() + 1
    broken = Broken(lambda: bench.hold(60, "cut off"), is_quick=is_quick)
    with pytest.raises(Abandoned):
        conduct(bench, broken, monkeypatch)
    assert bool(broken.undone) == is_quick
    assert bool(bench.store.read()) == (not is_quick)


def test_the_mark_stays_when_it_cannot_be_undone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Broken(lambda: Measured(2, 2, 11.0))

    def undo(facts: Mapping[str, Any]) -> list[str]:
        raise ClusterError("the gateway does not answer")

    broken.undo = undo  # type: ignore[method-assign]
    with pytest.raises(ClusterError, match="gateway"):
        conduct(bench, broken, monkeypatch)
    assert bench.store.read()["drill"] == "site_cut"


def test_nothing_is_begun_when_it_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Broken(Measured)
    with pytest.raises(ClusterError, match="run 7 of an app"):
        conduct(bench, broken, monkeypatch, ["hub: run 7 of an app (running): a drill may fail it"])
    assert not broken.undone
    assert bench.store.read() == {}


def test_no_drill_begins_while_another_one_is_not_undone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several drills Ansible conducts the next one also after one that failed."""
    bench.store.begin("certificate_ended", "2026-11-26T10:00:00+00:00", {"run": "7"})
    before = dict(bench.store.read())
    broken = Broken(Measured)
    with pytest.raises(ClusterError, match="what the drill certificate_ended of 2026-11-26T10:00:00\\+00:00 broke is not undone: run again"):
        conduct(bench, broken, monkeypatch)
    assert bench.store.read() == before and not broken.undone
