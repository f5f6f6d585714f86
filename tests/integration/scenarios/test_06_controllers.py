# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several controllers at once never give two sites one partition."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from threading import Barrier, BrokenBarrierError

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import ranges
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
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
        "data": {"address": "superlink.example:9092", "ca.crt": "-", "server_name": "", "version": "1.41.0"},
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
    hosts = {"hub": federation.base()["hub"], **dict.fromkeys(chain(*sides), where)}
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
                own.change_book(lambda book, count=count: ranges.allocate(book, {f"{side}-{count}": {"pool": 2}}).book)
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
