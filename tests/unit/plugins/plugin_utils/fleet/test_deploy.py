# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rollout of a batch: its errors and messages are those of its sites."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import clientapps, deploy
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.deploy import Options, Rollout
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.register import Registered
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import KeyResult, Site, StepResult
from ansible_collections.federated.flower.plugins.plugin_utils.state import site_indexes
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import DATASETS, NODES
from ansible_collections.federated.flower.plugins.plugin_utils.state.site_indexes import Files
from ansible_collections.federated.flower.tests.unit.rows import each_row


class Run:
    """What a rollout needs of a run."""

    show_diff = False

    def __init__(self, *, check: bool = False) -> None:
        self.check = check

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        pass

    def failed(self, site: str, message: str) -> None:
        pass

    def say_details(self, text: str) -> None:
        pass


class Away:
    """The way to a site whose API server does not answer."""

    def detect_platform(self) -> None:
        raise ClusterError("its API server does not answer")

    def pod_summary(self) -> str:
        return "Have the bundle applied."

    def connectivity_error(self) -> tuple[str, str]:
        return "", ""

    def close(self) -> None:
        pass


def rollout(run: Run) -> Rollout:
    # No hub: where every site has failed, it is not asked.
    return Rollout(run, None, "hub", {}, {"a": Away()}, Outcomes(run, ["a"], 1), Options())


def test_a_batch_whose_sites_have_all_failed_keeps_their_errors() -> None:
    one = rollout(Run())
    one.deploy()
    assert one.outcomes["a"].failed and one.outcomes["a"].msg == "a: its API server does not answer"


@each_row(
    ("check", "by_hand", "report", "words"),
    [
        (True, False, {}, "SuperNodes are not counted in check mode"),
        (True, True, {}, "SuperNodes are not counted in check mode. Have the bundle applied."),
        (False, False, {"online": 2, "expected": 2}, "2 SuperNodes online"),
        (False, True, {"online": 1, "expected": 2}, "1 of 2 SuperNodes online. Have the bundle applied."),
    ],
)
def test_what_is_said_of_supernodes(check: bool, by_hand: bool, report: dict[str, Any], words: str) -> None:
    one = rollout(Run(check=check))
    one._confirm("a", KeyResult(keys=[], by_hand=by_hand), report, [])
    assert one.outcomes["a"].msg == words


class Moved(Away):
    """The way to a site that does not reach the hub's new address, or of which that is not known."""

    def __init__(self, fault: str, warning: str = "") -> None:
        self.found = fault, warning

    def connectivity_error(self) -> tuple[str, str]:
        return self.found


def test_a_site_that_has_lost_the_hub_fails_although_its_supernodes_count_as_online() -> None:
    report: dict[str, Any] = {"online": 2, "expected": 2, "missing": [], "denied": {}}
    one = rollout(Run())
    one.backends = {"a": Moved("it does not reach the hub")}
    with pytest.raises(ClusterError, match="it does not reach the hub"):
        one._confirm("a", KeyResult(keys=[]), report, [])
    one._confirm("a", KeyResult(keys=[]), {**report, "denied": {"reason": "a ticket", "since": "", "source": ""}}, [])
    one.backends = {"a": Moved("", "whether it does is not known")}
    one._confirm("a", KeyResult(keys=[]), report, [])
    assert one.outcomes["a"].warnings[-1] == "a: whether it does is not known"


class Ledger:
    """The ledger of a hub, in memory."""

    def __init__(self, *, fault: str = "") -> None:
        self.parts: dict[str, Any] = {DATASETS: {}, NODES: {}}
        self.fault = fault

    def read_sites(self) -> tuple[dict[str, Any], dict[str, str]]:
        key = {"pool": "default", "name": "3", "node_id": "12", "public_key": "k", "dead": False}
        return {"a": {"site": "a", "region": "eu", "keys": {"SHA256:a": key}, "retired": {}}}, {}

    def read(self, part: str) -> dict[str, Any]:
        return self.parts[part]

    def change(self, part: str, change: Callable[[Any], Any]) -> None:
        if self.fault and part == NODES:
            raise ClusterError(self.fault)
        self.parts[part] = change(self.parts[part])


class Noting(Run):
    """A run that keeps what it notes."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[Any] = []

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        self.notes += [one for found in facts.values() for one in found]


def deploying(ledger: Ledger, spec: Any, way: Any = None) -> Rollout:
    """The rollout of one site."""
    run: Any = Noting()
    hub: Any = SimpleNamespace(ledger=ledger, hub=None, namespace="flower", federation="demo")
    sites = {"a": Site("a", spec, SiteAccess("bundle", "site", "direct"))}
    return Rollout(run, hub, "hub", sites, {"a": way}, Outcomes(run, ["a"], 1), Options())


def test_a_dataset_in_files_that_people_apply_is_a_promise(parsed_site: Callable[..., Any]) -> None:
    ledger = Ledger()
    one = deploying(ledger, parsed_site(datasets=[{"name": "ct", "claim": "ct"}]))
    one.note_datasets(["a"], {"a": StepResult(files=Files(5, 4))})
    assert ledger.parts[DATASETS] == {"a": {"default": {"datasets": [], "nodes": ["12"], "promised": {"ct": 5}}}}
    assert one.run.notes == [] and not one.outcomes["a"].changed
    one.note_datasets(["a"], {"a": StepResult(files=Files(5, 5))})
    assert ledger.parts[DATASETS] == {"a": {"default": {"datasets": ["ct"], "nodes": ["12"]}}}
    assert one.run.notes == [{"pool": "default", "dataset": "ct", "change": "added"}] and one.outcomes["a"].changed
    ledger.parts[DATASETS] = {}
    one.note_datasets(["a"], {"a": StepResult()})
    assert ledger.parts[DATASETS]["a"]["default"]["datasets"] == ["ct"], "where objects are applied"


class Deployed:
    """The way to a site; what data scientists knew of its SuperNodes when it was applied."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.homes: dict[str, str] = {}

    def apply(self, _objects: Any, _gate: Any) -> StepResult:
        self.homes, self.regions = site_indexes.sites_by_node(self.ledger.parts[NODES]), site_indexes.regions(self.ledger.parts[NODES])
        return StepResult()

    def close(self) -> None:
        """There is no connection."""


@pytest.mark.parametrize("fault", ["", "the right is missing"])
def test_new_supernodes_are_known_before_they_start(parsed_site: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """To data scientists as well, whose runs stay in a region."""
    ledger = Ledger(fault=fault)
    way = Deployed(ledger)
    one = deploying(ledger, parsed_site(), way)
    monkeypatch.setattr(one, "_keys", lambda _chosen: {"a": KeyResult()})
    monkeypatch.setattr(one, "_register", lambda _keys: Registered(changed={"a"}))
    monkeypatch.setattr(one, "_confirm", lambda *_given: None)
    monkeypatch.setattr(deploy, "objects_of", lambda _site: [])
    monkeypatch.setattr(deploy.online, "wait", lambda *_given: {})
    one._deploy(["a"])
    assert not one.outcomes["a"].failed
    if fault:
        assert [word for word in one.outcomes["a"].warnings if "cannot record its SuperNodes at the hub" in word] == one.outcomes["a"].warnings[:1], "once"
        return
    assert way.homes == {"12": "a"} and way.regions == {"a": "eu"}
    monkeypatch.setattr(one, "_register", lambda _keys: Registered())
    ledger.parts[NODES] = {}
    one._deploy(["a"])
    assert way.homes == {} and site_indexes.sites_by_node(ledger.parts[NODES]) == {"12": "a"}, "a record that was lost is written again"
    one.run.check, ledger.parts[NODES] = True, {}
    one._deploy(["a"])
    assert ledger.parts[NODES] == {}


class Queue:
    """A lock that has let nobody in until so many ask for it."""

    def __init__(self, most: int) -> None:
        self.lock, self.all_there = threading.Lock(), threading.Barrier(most)

    def __enter__(self) -> None:
        self.all_there.wait(60)
        self.lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self.lock.release()


def test_one_site_at_a_time_asks_for_active_runs_and_all_of_them_wait_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose turn comes when others have waited for as long as they may: they wait for the same run."""
    begun: list[float] = []
    asking = threading.Semaphore(1)
    now = 0.0

    def wait_no_run(_cli: Any, seconds: float, _say: Any, _way_out: Any, since: float) -> None:
        assert seconds == 60 and asking.acquire(blocking=False), "a question is a process beside the SuperLink"
        nonlocal now
        now += 60
        begun.append(since)
        asking.release()

    monkeypatch.setattr(deploy.restart_conditions, "wait_no_run", wait_no_run)
    monkeypatch.setattr(deploy, "time", SimpleNamespace(monotonic=lambda: now))
    run: Any = Run()
    run.connect = lambda _hub: contextlib.nullcontext(None)
    run.say = print
    one: Any = rollout(run)
    one._waiting = Queue(4)
    spec = SimpleNamespace(has_separate_clientapps=True, clientapp_force=False, clientapp_wait=60)
    site: Any = SimpleNamespace(hub="hub", hub_namespace="flower", spec=spec)
    for _turn in range(2):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _number: one.wait_no_run(site), range(4)))
    assert begun == [0.0] * 8


class WithPools(Ledger):
    """The ledger of a hub whose site has SuperNodes: pool -> number; and one more, which is leaving."""

    def __init__(self, **pools: int) -> None:
        super().__init__()
        self.pools = pools

    def read_sites(self) -> tuple[dict[str, Any], dict[str, str]]:
        keys = {f"{pool}{n}": {"pool": pool, "name": str(n), "node_id": "1"} for pool, number in self.pools.items() for n in range(number)}
        return {"a": {"site": "a", "keys": {**keys, "old": {"pool": "cpu", "name": "9", "node_id": "2", "leaving": True}}}}, {}


@each_row(
    ("has", "delivery", "apart", "words"),
    [
        ({"cpu": 2}, "direct", True, ""),
        ({"cpu": 4}, "direct", True, "(4 in pool cpu, not 2)"),
        ({"cpu": 1, "gpu": 1}, "ocm", True, "(1 in pool cpu, not 2; 1 in pool gpu, not 0)"),
        ({}, "direct", True, "(0 in pool cpu, not 2)"),
        ({"cpu": 4}, "bundle", True, ""),
        ({"cpu": 4}, "direct", False, ""),
    ],
)
def test_clientapps_are_not_changed_for_supernodes_that_a_site_does_not_have(
    parsed_site: Callable[..., Any], has: dict[str, int], delivery: str, apart: bool, words: str
) -> None:
    spec = parsed_site(pools=[{"name": "cpu", "replicas": 2}], clientapp="workload" if apart else "pod")
    one = deploying(WithPools(**has), spec)
    one.sites["a"].access = SiteAccess(delivery, "site", "direct")
    clientapps._refuse_other_pools(one)
    assert words in one.outcomes["a"].msg and one.outcomes["a"].failed == bool(words)


def test_clientapps_are_changed_without_the_hub_all_the_same(parsed_site: Callable[..., Any]) -> None:
    def away() -> None:
        raise ClusterError("hub does not answer")

    one = deploying(WithPools(), parsed_site(clientapp="workload"))
    one.hub.ledger.read_sites = away
    clientapps._refuse_other_pools(one)
    assert not one.outcomes["a"].failed
    assert one.outcomes["a"].warnings == ["a: cannot determine whether it has the SuperNodes of these ClientApps: hub does not answer"]
