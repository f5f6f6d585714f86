# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several controllers at once: never two sites with one partition, and one playbook at a time that changes the fleet."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from threading import Barrier, BrokenBarrierError

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object as record
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

SPACE = f"{NAMESPACE}-race"
MISSING = f"{NAMESPACE}-race-missing"
TIMES = 10
ROUNDS = 5
POOLS = [{"name": "two", "replicas": 2, "node_config": {"partition-id": "{partition}"}}]


@pytest.fixture
def ledger(federation):
    """A separate, empty ledger, with the hub's publication beside it."""
    hub = federation.hub
    if hub.get("v1", "Namespace", SPACE) is None:
        hub.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    if hub.get("v1", "ConfigMap", "flower-ledger", SPACE):
        hub.delete("v1", "ConfigMap", "flower-ledger", SPACE)
    published = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "flower-federation", "namespace": SPACE},
        "data": {"address": "superlink.example:9092", "ca.crt": "-", "server_name": "", "version": "1.42.0"},
    }
    hub.apply(published)
    return Ledger(hub, SPACE, "race")


def numbers(ledger):
    """All partitions that were given out, of every pool."""
    pools = chain.from_iterable(site["pools"].values() for site in ledger.read_book()["sites"].values())
    return sorted(pool["offset"] + count for pool in pools for count in range(pool["size"]))


def test_two_playbooks_at_once(federation, ledger):
    """Each takes its sites one by one. Their namespace is missing, so that nothing is made there: numbers come before."""
    sides = [[f"{side}-{count}" for count in range(ROUNDS)] for side in ("left", "right")]
    where = {
        "flower_context": "hub",
        "flower_namespace": SPACE,
        "flower_federation": "race",
        "flower_create_namespace": False,
        "supernode_namespace": MISSING,
        "supernode_pools": POOLS,
    }
    plays = [
        {
            "hosts": side,
            "gather_facts": False,
            "serial": 1,
            "tasks": [
                {"federated.flower.supernode": {}, "run_once": True, "register": "deployed"},
                {"ansible.builtin.assert": {"that": f"'{MISSING}' in deployed.sites[inventory_hostname].msg"}},
            ],
        }
        for side in sides
    ]
    hub = {**federation.base()["hub"], "flower_namespace": SPACE, "flower_federation": "race"}
    hosts = {"hub": hub, **dict.fromkeys(chain(*sides), where)}
    settled = federation.settled
    started = []
    for number, play in enumerate(plays):
        path = federation.folder / f"race-{number}.yml"
        path.write_text(json.dumps([play]))
        started.append(federation.start(str(path), hosts=hosts))
    for run in [finish() for finish in started]:
        assert run.rc == 0, run.details()
    assert numbers(ledger) == list(range(2 * 2 * ROUNDS))
    assert set(ledger.read_book()["sites"]) == set(chain(*sides))
    federation.settled = settled


@contextmanager
def aborting(barrier):
    """Free the others at once when one fails."""
    try:
        yield
    except BaseException:
        barrier.abort()
        raise


def test_four_rivals_in_a_tight_loop(federation, ledger):
    barrier = Barrier(4)

    def rival(side):
        with aborting(barrier), connect({"kubeconfig": str(federation.kubeconfig), "context": "hub"}) as hub:
            own = Ledger(hub, SPACE, "race")
            own.read_book()
            before = hub.requests
            for count in range(TIMES):
                barrier.wait(120)
                own.change_book(lambda book, count=count: partition_numbers.allocate(book, {f"{side}-{count}": {"pool": 2}}).book)
            return hub.requests - before

    with ThreadPoolExecutor(4) as pool:
        rivals = [pool.submit(rival, side) for side in range(4)]
    # The first cause, not the barrier that it broke for the others.
    faults = [
        fault for fault in (job.exception() for job in rivals) if not isinstance(fault, BrokenBarrierError | None)
    ]
    assert not faults, faults
    requests = sum(job.result() for job in rivals)
    assert requests > 4 * TIMES * 2, "they never met: this shows nothing"
    assert numbers(ledger) == list(range(4 * 2 * TIMES))


# A task that renews the lease until a file appears.
WAIT = {
    "federated.flower.superlink_info": {"hub": "hub", "namespace": SPACE, "federation": "race"},
    "until": "gate is file",
    "retries": 200,
    "delay": 1,
}
# A playbook of a user's own.
HOLD = [
    {"import_playbook": "federated.flower.take_lease"},
    {
        "hosts": "hub",
        "gather_facts": False,
        "tasks": [{**WAIT, "register": "seen"}, {"ansible.builtin.debug": {"msg": "seen: {{ seen.lease | to_json }}"}}],
    },
    {"import_playbook": "federated.flower.return_lease"},
]
# What a first deployment does before anything else.
FIRST = [
    {"import_playbook": "federated.flower.take_lease"},
    {
        "hosts": "hub",
        "gather_facts": False,
        "vars": {"superlink_exposure": "cluster_ip"},
        "tasks": [{"federated.flower.superlink": {"state": "services"}}, WAIT],
    },
    {"import_playbook": "federated.flower.return_lease"},
]


class Rivals:
    """Playbooks on the fleet of the separate ledger."""

    def __init__(self, federation):
        self.federation = federation
        where = {"flower_namespace": SPACE, "flower_federation": "race"}
        base = federation.base()
        self.hosts = {"hub": {**base["hub"], **where}, "site-a": {"flower_context": "site-a", **where, "supernode_namespace": MISSING}}
        self.held = 0

    def start(self, playbook, *arguments):
        settled = self.federation.settled
        started = self.federation.start(playbook, *arguments, hosts=self.hosts)
        self.federation.settled = settled
        return started

    def hold(self, user, job):
        """Start a playbook that holds the lease; also the file that ends it."""
        self.held += 1
        path, gate = (self.federation.folder / f"hold-{self.held}.{end}" for end in ("yml", "gate"))
        path.write_text(json.dumps(HOLD))
        gate.unlink(missing_ok=True)  # of another test
        variables = {"gate": str(gate), "awx_user_name": user, "awx_job_id": job}
        started = self.start(str(path), "-e", json.dumps(variables))
        self.federation.wait("a lease", lambda: f"job {job}" in self.holder() or not started.running(), 40)
        assert started.running(), started().details()
        return started, gate

    def lease(self):
        return self.federation.hub.get(record.API, record.KIND, record.NAME, SPACE)

    def holder(self):
        return record.holder(self.lease())

    def patch(self, **spec):
        self.federation.hub.patch(record.API, record.KIND, record.NAME, SPACE, {"spec": spec})


@pytest.fixture
def rivals(federation, ledger):
    """Nobody holds the lease."""
    federation.hub.delete(record.API, record.KIND, record.NAME, SPACE, propagation="Background")
    return Rivals(federation)


def test_the_second_playbook_is_refused_or_waits(federation, rivals):
    first, gate = rivals.hold("jane", 42)
    refused = rivals.start("teardown", "-e", '{"flower_teardown": true, "flower_lease_wait": 0}')
    waiting = rivals.start("clientapp", "--limit", "site-a")
    checking = rivals.start("clientapp", "--check")
    run = refused()
    assert run.rc == 2
    assert "jane@" in run.messages(failed=True) and "job 42, hold-1.yml" in run.messages(failed=True), run.details()
    assert set(run.changed.values()) == {0}
    federation.wait("a word of waiting", lambda: "Waiting for jane@" in waiting.log.read_text(), 40)
    run = checking()
    assert run.rc == 0, "check mode needs no lease: " + run.details()
    assert "job 42" in rivals.holder()
    gate.touch()
    run = first()
    assert run.rc == 0, run.details()
    assert 'seen: {"holder": "jane@' in run.messages()
    run = waiting()
    assert run.rc == 0, run.details()
    assert rivals.lease() is None


def test_a_killed_playbook_loses_the_lease(federation, rivals):
    first, _gate = rivals.hold("jane", 43)
    first.crash()
    first()
    rivals.patch(leaseDurationSeconds=600)  # nothing renews it; the next playbook starts when it can
    waiting = rivals.start("clientapp")
    federation.wait("a word of waiting", lambda: "Waiting for jane@" in waiting.log.read_text(), 40)
    rivals.patch(leaseDurationSeconds=4)  # the rest of the minute is not waited for here
    run = waiting()
    assert run.rc == 0, run.details()
    assert "its ClientApps run beside its SuperNodes" in run.messages() and rivals.lease() is None


def test_the_lease_of_a_playbook_that_hangs_is_broken_by_the_holders_name(federation, rivals):
    first, gate = rivals.hold("jane", 44)
    rivals.patch(leaseDurationSeconds=600)  # it does nothing that renews it
    words = ("-e", "flower_lease_wait=0", "-e")
    refused = rivals.start("clientapp", *words, "flower_lease_break=bob@desk")()
    assert refused.rc == 2 and "'bob@desk' does not hold the lease, but jane@" in refused.messages(failed=True), refused.details()
    run = rivals.start("clientapp", *words, f"flower_lease_break={record.name(rivals.lease())}")()
    assert run.rc == 0, run.details()
    gate.touch()
    run = first()
    assert run.rc == 2 and "this run changes nothing more" in run.messages(failed=True), run.details()


def test_who_lost_the_lease_changes_nothing_more(federation, rivals):
    first, gate = rivals.hold("jane", 45)
    rivals.patch(holderIdentity="bob@desk, site.yml, other", acquireTime="2026-11-22T12:00:00.000000Z")
    gate.touch()
    run = first()
    assert run.rc == 2
    assert "bob@desk, site.yml took it" in run.messages(failed=True), run.details()
    assert rivals.holder().startswith("bob@"), "it is not returned for another one"


def test_of_two_first_deployments_one_goes_on(federation, rivals):
    federation.hub.delete("v1", "Namespace", SPACE)
    federation.wait("the end of the namespace", lambda: federation.gone("hub", SPACE), 60)
    path = federation.folder / "first.yml"
    path.write_text(json.dumps(FIRST))
    gate = federation.folder / "first.gate"
    words = ("-e", f"gate={gate}", "-e", "flower_lease_wait=0")
    started = [rivals.start(str(path), "-e", f"awx_job_id={job}", *words) for job in (1, 2)]
    federation.wait("one that is refused", lambda: not all(one.running() for one in started), 60)
    gate.touch()
    runs = [finish() for finish in started]
    assert sorted(run.rc for run in runs) == [0, 2], [run.details() for run in runs]
    (lost,) = (run for run in runs if run.rc)
    assert "has been changing the federation race" in lost.messages(failed=True)
