# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The cluster of a hub is lost, and its standby goes on in another cluster with the same nodes and runs; then the hub serves again.

A federation of its own: its hub is in the fleet's cluster of the hub, its standby in that of site-b, and so is one of its sites.
"""

from __future__ import annotations

import contextlib
import copy
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import hub_pair, leadership
from ansible_collections.federated.flower.plugins.plugin_utils.backup.hub_objects import TERM
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.runs import read_all
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import verify
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, CPU
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

SPACE, FAR, NAME = f"{NAMESPACE}-by", f"{NAMESPACE}-far", "standing"
CLUSTERS = {"hub": "hub", "spare": "site-b"}  # inventory name -> context, of what may be the hub
SITES = {"near": ("site-a", SPACE), "far": ("site-b", FAR)}
RUN = json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}})
# The reader's container has no shell.
WRITE = "import os, sys; os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True); open(sys.argv[1], 'w').write(sys.argv[2])"
LIST = "import os; print([name for _folder, _folders, names in os.walk('/outputs') for name in names])"


class Pair:
    """A federation with two hubs, one of which serves."""

    def __init__(self, fed: Any) -> None:
        self.fed = fed
        self.hub, self.standby = "hub", "spare"  # as the inventory has them
        self.follows: Any = None
        self.settled = fed.settled
        fed.settled = False

    def inventory(self, **hosts: Any) -> Path:
        """The inventory as it is now; C(hosts) has further variables of some hosts."""
        hub = {"superlink_exposure": "node_port", "superlink_storage_size": "256Mi", "superlink_outputs_size": "64Mi", "superlink_outputs_min_free": "1Mi"}
        hubs = {name: {**hub, "flower_context": context, **hosts.get(name, {})} for name, context in CLUSTERS.items()}
        pool = {**copy.deepcopy(CPU), "replicas": 1}
        sites = {
            name: {"flower_context": context, "supernode_namespace": space, "supernode_pools": [pool]}
            for name, (context, space) in SITES.items()
        }
        common = {
            **self.fed.common, "flower_federation": NAME, "flower_namespace": SPACE, "flower_ca_namespace": f"{SPACE}-ca",
        }  # fmt: skip
        groups = {
            "flower_hub": {"hosts": {self.hub: hubs[self.hub]}},
            "flower_standby": {"hosts": {self.standby: hubs[self.standby]}},
            "flower_sites": {"hosts": sites},
        }
        path = self.fed.folder / f"standby-{len(list(self.fed.folder.glob('standby-*')))}.json"
        path.write_text(json.dumps({"all": {"vars": common, "children": groups}}))
        return path

    def play(self, playbook: str, *arguments: str, rc: int = 0, **hosts: Any) -> Any:
        """Run a playbook of the collection."""
        begun = time.monotonic()
        run = self.fed.play(playbook, *arguments, hosts=self.inventory(**hosts), rc=rc)
        print(f"{playbook} {' '.join(arguments)}: {time.monotonic() - begun:.0f} s")
        return run

    def follow(self, seconds: int) -> Any:
        """Start the playbook that follows the hub; what comes back waits for its end."""
        self.follows = self.fed.start("standby", "-e", f"flower_standby_follow={seconds} flower_standby_interval=10", hosts=self.inventory())
        return self.follows

    def copied(self) -> float:
        """Wait for a copy of all that there is now; seconds until it was complete."""
        begun, now = time.monotonic(), hub_pair.moment()
        self.fed.wait("a copy", lambda: self.term("spare").copied > now, 150, pause=0.5)
        return time.monotonic() - begun

    def exchange(self) -> None:
        """The user exchanges the hosts of the two groups."""
        self.hub, self.standby = self.standby, self.hub

    def cluster(self, host: str) -> Any:
        """A connection to the cluster of a hub."""
        return self.fed.cluster(CLUSTERS[host])

    def term(self, host: str) -> Any:
        """The record of a hub."""
        return leadership.read(self.cluster(host), SPACE)

    def nodes(self, host: str) -> dict[str, str]:
        """Node id -> status."""
        return {node: facts["status"] for node, facts in FlowerCLI(self.cluster(host), SPACE).nodes().items()}

    def runs(self, host: str) -> dict[str, str]:
        """Run id -> status."""
        return {str(run["run-id"]): run["status"] for run in read_all(FlowerCLI(self.cluster(host), SPACE))}

    def keys(self, host: str) -> dict[str, Any]:
        """Records of the sites in the ledger."""
        return {site: record["keys"] for site, record in Ledger(self.cluster(host), SPACE, NAME).read_records().items()}

    def trail(self, host: str) -> list[dict[str, Any]]:
        """The entries of the audit trail, which must be a complete chain."""
        verdict = verify(*Trail(self.cluster(host), SPACE, NAME).read())
        assert not verdict.fault and not verdict.notes, (verdict.fault, verdict.notes)
        return verdict.entries

    def lives(self) -> dict[str, Any]:
        """The pods of the SuperNodes."""
        return {name: self.fed.lives(context, space) for name, (context, space) in SITES.items()}

    def outputs(self, host: str, program: str, *arguments: str) -> str:
        """Run a program where the outputs are."""
        return self.fed.python(CLUSTERS[host], "serverapp-0", "outputs", program, *arguments, namespace=SPACE)

    def scale(self, host: str, number: int) -> None:
        """Power off, or on, as a user would see it."""
        for name in ("superlink", "serverapp"):
            self.cluster(host).patch("apps/v1", "StatefulSet", name, SPACE, {"spec": {"replicas": number}})

    def pods(self, host: str) -> list[str]:
        """Pods of the hub."""
        found = self.fed.pods(CLUSTERS[host], SPACE, "superlink"), self.fed.pods(CLUSTERS[host], SPACE, "serverapp")
        return [name for pods in found for name in pods]


@pytest.fixture(scope="module")
def pair(federation: Any) -> Iterator[Pair]:
    """The federation, with a finished run and its outputs, and a standby."""
    made = Pair(federation)
    made.play("site")
    made.play("run", "-e", RUN)
    yield made
    if made.follows is not None:
        made.follows.kill()
    for context in ("hub", "site-a", "site-b"):
        for space in (SPACE, f"{SPACE}-ca", FAR):
            if not federation.gone(context, space):
                federation.cluster(context).delete("v1", "Namespace", space, propagation="Background")
    federation.settled = made.settled


def test_the_hub_is_lost_and_comes_back(pair: Pair, dead: str) -> None:
    (first,) = pair.runs("hub")
    follows = pair.follow(1200)
    pair.fed.wait("the first copy", lambda: (term := pair.term("spare")) and term.copied, 240, pause=1)
    assert (pair.term("hub").state, pair.term("spare").state) == ("active", "standby")
    assert pair.pods("spare") == [] and pair.term("spare").number == 1

    # What finishes meanwhile is copied, by nobody's doing.
    pair.play("run", "-e", RUN)
    print(f"the finished run was copied {pair.copied():.0f} s after its playbook")
    (second,) = set(pair.runs("hub")) - {first}
    pair.outputs("hub", WRITE, f"/outputs/{second}/model/weights.txt", "weights")
    keys, known, lives, trail = pair.keys("hub"), set(pair.nodes("hub")), pair.lives(), pair.trail("hub")
    pair.fed.wait("the same time in both records", lambda: pair.term("hub").copied == pair.term("spare").copied)

    # Its cluster is off, and then its API server does not answer.
    pair.scale("hub", 0)
    pair.fed.wait("the end of the hub", lambda: not pair.pods("hub"))
    lost = {"flower_kubeconfig": dead}
    said = pair.play("failover", "--check", hub=lost).messages()
    copied = pair.term("spare").copied
    assert f"use the copy of {copied}" in said and pair.term("spare").state == "standby", said
    assert "leave the outputs of runs on the volume of hub" in said, said
    begun = time.monotonic()
    pair.play("failover", "-e", "flower_failover=true", hub=lost)
    seconds = time.monotonic() - begun
    assert pair.nodes("spare") == dict.fromkeys(known, "online")
    print(f"all SuperNodes online at the standby {seconds:.0f} s after the begin of the failover")
    assert seconds < 120
    assert pair.keys("spare") == keys and pair.lives() == lives
    assert pair.runs("spare") == dict.fromkeys((first, second), "finished:completed")
    assert "weights" not in pair.outputs("spare", LIST)
    run = follows()
    said = run.messages("spare")
    assert run.rc == 0 and "until spare serves, in term 2" in said, said
    after = pair.trail("spare")
    assert after[: len(trail)] == trail and len(after) > len(trail)

    # The old cluster comes back, with its SuperLink, while nobody has changed the inventory.
    pair.scale("hub", 1)
    pair.fed.wait("the old hub", lambda: "superlink-0" in pair.pods("hub"))
    said = pair.play("site", rc=2).messages("hub", failed=True)
    assert "hub does not serve any more: spare took over from it in term 2" in said, said
    # A denial there would have no effect, and the next copy would delete it.
    said = pair.play("site_access", "-e", "flower_site=near", "-e", "flower_access=denied", rc=2).messages("hub", failed=True)
    assert "hub does not serve any more: spare took over from it in term 2" in said, said
    pair.exchange()
    said = pair.play("standby").messages()
    assert "after hub was fenced" in said, said
    assert pair.pods("hub") == [] and (pair.term("hub").state, pair.term("hub").number) == ("standby", 2)
    pair.exchange()
    assert "is the standby of spare" in pair.play("site", "--tags", "preflight", rc=2).messages("hub", failed=True)


def test_the_hub_serves_again(pair: Pair) -> None:
    """Both can be reached, so nothing is lost, without a copy of standby.yml before."""
    assert pair.hub == "hub", "the failover did not come to its end"
    known, lives = pair.nodes("spare"), pair.lives()
    runs = pair.runs("spare")
    pair.outputs("spare", WRITE, f"/outputs/{min(runs)}/later.txt", "later")
    run = pair.play("failback", "-e", "flower_failover=true")
    assert "copy spare to hub once more" in run.messages(), run.messages()
    assert pair.nodes("hub") == dict.fromkeys(known, "online") and pair.runs("hub") == runs and pair.lives() == lives
    # Each hub has the outputs that were written there, and neither loses them by a copy or by accident.
    listed = pair.outputs("hub", LIST)
    assert "weights.txt" in listed and "later.txt" not in listed, listed
    said = pair.play("standby", "-e", "flower_standby_state=absent", rc=2).messages("spare", failed=True)
    assert "flower_delete_volumes=true" in said, said
    assert pair.pods("spare") == [] and pair.term("spare").state == "fenced" and pair.term("hub").number == 3
    again = pair.play("failback", "-e", "flower_failover=true")
    assert set(again.changed.values()) == {0}, again.changed
    pair.play("run", "-e", RUN)


@pytest.mark.soak
def test_the_drill_of_a_lost_hub(pair: Pair) -> None:
    """The steps of the guide on drills: the hub serves, and is not asked."""
    known, lives = set(pair.nodes("hub")), pair.lives()
    said = pair.play("drill", "-e", f"flower_drill=superlink_killed,hub_lost flower_drill_confirm={NAME}", rc=2).messages("hub", failed=True)
    assert "of a database or a hub requires a failover" in said and "flower_failover_hub_lost=true" in said and "Nothing was broken" in said, said
    pair.play("standby")
    said = pair.play("failover", "-e", "flower_failover=true flower_failover_hub_lost=true").messages("spare")
    assert "s after the start (the target of 120 s is met)" in said and "hub is not fenced by this run" in said, said
    print(said)
    assert pair.nodes("spare") == dict.fromkeys(known, "online") and pair.pods("hub")
    pair.play("failover", "-e", "flower_failover=true")
    assert serving(pair) == ["spare"] and pair.term("hub").state == "fenced"
    pair.play("failback", "-e", "flower_failover=true")
    assert pair.nodes("hub") == dict.fromkeys(known, "online") and serving(pair) == ["hub"] and pair.lives() == lives


def serving(pair: Pair) -> list[str]:
    """The hubs that have pods."""
    return [host for host in CLUSTERS if pair.pods(host)]


def kill_after(pair: Pair, playbook: str, tasks: int) -> None:
    """Start a playbook, and kill it after so many results of tasks."""
    begun = pair.fed.start(playbook, "-e", "flower_failover=true", hosts=pair.inventory())
    pair.fed.wait("the point", lambda: begun.tasks() >= tasks or not begun.running(), 300, pause=0.2)
    begun.kill()


@pytest.mark.soak
def test_what_a_follower_must_not_do(pair: Pair) -> None:
    """It gives no record to a hub that lost its own, replaces none that is another one by now, and does not outlive its playbook."""
    pair.play("standby")
    follows = pair.follow(45)
    print(f"first copy: {pair.copied():.0f} s")
    pair.cluster("hub").delete("v1", "ConfigMap", TERM, SPACE, propagation="Background")
    run = follows()
    said = run.messages("spare", failed=True)
    assert run.rc == 2 and "has no record" in said and pair.term("hub") is None, said
    pair.play("standby")
    assert pair.term("hub").state == "active"
    with pytest.raises(ClusterError, match="was changed while the hub was copied, and is standby in term"):
        leadership.swap(pair.cluster("spare"), SPACE, NAME, None, pair.term("hub"))

    follows = pair.follow(600)
    print(f"first copy: {pair.copied():.0f} s")
    follows.kill()
    # Forks of a playbook are in sessions of their own.
    where = str(follows.log.parent.parent).encode()
    pair.fed.wait("the end of its fork", lambda: not [one for one in commands() if where in one and b"federated.flower.standby" in one], 90, pause=1)
    pair.fed.wait("the lease's return", lambda: pair.cluster("spare").get("coordination.k8s.io/v1", "Lease", "flower-lease", SPACE) is None, 90)


def commands() -> list[bytes]:
    """Command lines of the processes of this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found.append(path.read_bytes())
    return found


@pytest.mark.soak
def test_a_failover_that_is_killed_is_completed(pair: Pair) -> None:
    """To and fro, killed at random points: at no time two hubs serve, and the next run completes it."""
    known, lives = set(pair.nodes("hub")), pair.lives()
    pair.play("standby")
    for number, killed_after in enumerate(random.sample(range(5, 30), 6)):  # results of tasks
        direction = ("failover", "failback")[number % 2]
        target = ("spare", "hub")[number % 2]
        kill_after(pair, direction, killed_after)
        print(f"{direction} killed after {killed_after} tasks: {pair.term('hub')}, {pair.term('spare')}")
        assert len(serving(pair)) <= 1
        pair.play(direction, "-e", "flower_failover=true")
        assert serving(pair) == [target]
        assert pair.nodes(target) == dict.fromkeys(known, "online") and pair.lives() == lives
        pair.trail(target)


@pytest.mark.soak
def test_runs_forbid_a_failover_of_a_hub_that_serves(pair: Pair) -> None:
    known = set(pair.runs("hub"))
    finish = pair.fed.start("run", "-e", RUN.replace('"num-server-rounds": 1', '"num-server-rounds": 200'), hosts=pair.inventory())

    def active() -> list[str]:
        return [run for run, status in pair.runs("hub").items() if run not in known and status == "running"]

    (run,) = pair.fed.wait("a run", active, 120, pause=2)
    said = pair.play("failover", "-e", "flower_failover=true", rc=2).messages("spare", failed=True)
    assert f"active runs ({run})" in said, said
    said = pair.play("failover", rc=2).messages("spare", failed=True)
    assert f"active runs ({run})" in said, said
    pair.play("failover", "-e", "flower_failover=true flower_failover_abandon_runs=true")
    finish.kill()
    pair.fed.wait("the end of the run", lambda: pair.runs("spare")[run].startswith("finished"), 300, pause=5)
    print(f"the abandoned run is {pair.runs('spare')[run]}")
    pair.play("failback", "-e", "flower_failover=true")


@pytest.mark.soak
def test_a_hub_that_lost_its_volume_is_not_copied(pair: Pair) -> None:
    """The copy is all that there is: neither a schedule nor a failover replaces it by the empty volume."""
    known, runs = set(pair.nodes("hub")), pair.runs("hub")
    pair.play("standby")
    pair.scale("hub", 0)
    pair.fed.wait("the end of the hub", lambda: not pair.pods("hub"))
    claim = ("v1", "PersistentVolumeClaim", "data-superlink-0", SPACE)
    lost = pair.cluster("hub").get(*claim)
    pair.cluster("hub").delete(*claim, propagation="Background")
    pair.fed.wait("the end of its volume", lambda: pair.cluster("hub").get(*claim) is None)
    spec = {key: value for key, value in lost["spec"].items() if key != "volumeName"}
    meta = {key: lost["metadata"][key] for key in ("name", "namespace", "labels")}
    pair.cluster("hub").create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    copied = pair.term("spare").copied
    said = pair.play("standby", rc=2).messages("spare", failed=True)
    assert "flower_standby_accept_volumes" in said, said
    said = pair.play("failover", "-e", "flower_failover=true", rc=2).messages("spare", failed=True)
    assert "flower_failover_hub_lost=true" in said, said
    assert pair.term("spare").copied == copied and pair.term("hub").state == "active"
    pair.play("failover", "-e", "flower_failover=true flower_failover_hub_lost=true")
    assert pair.runs("spare") == runs and pair.nodes("spare") == dict.fromkeys(known, "online")
    pair.play("failover", "-e", "flower_failover=true")  # fences the old hub
    pair.play("failback", "-e", "flower_failover=true")
    assert pair.runs("hub") == runs and pair.nodes("hub") == dict.fromkeys(known, "online") and serving(pair) == ["hub"]


@pytest.mark.soak
def test_the_namespaces_of_the_hub_are_lost_and_the_standby_is_removed(pair: Pair) -> None:
    known = set(pair.nodes("hub"))
    pair.play("standby", "-e", "flower_standby_state=absent flower_delete_volumes=true")
    assert pair.fed.cluster("site-b").get("v1", "PersistentVolumeClaim", "data-superlink-0", SPACE) is None
    said = pair.play("failover", "-e", "flower_failover=true flower_failover_hub_lost=true", rc=2).messages("spare", failed=True)
    assert "has no complete copy" in said, said
    pair.play("standby")
    for space in (SPACE, f"{SPACE}-ca"):
        pair.cluster("hub").delete("v1", "Namespace", space, propagation="Background")
    pair.fed.wait("the end of the hub's namespaces", lambda: pair.fed.gone("hub", SPACE, f"{SPACE}-ca"))
    pair.play("failover", "-e", "flower_failover=true")
    assert pair.nodes("spare") == dict.fromkeys(known, "online")
    pair.play("failback", "-e", "flower_failover=true")  # into an empty cluster
    assert pair.nodes("hub") == dict.fromkeys(known, "online") and serving(pair) == ["hub"]
    # A first copy that was interrupted is a copy of all keys: it is removed as well.
    begun = pair.fed.start("standby", hosts=pair.inventory())
    ca = ("v1", "Secret", "flower-ca", f"{SPACE}-ca")
    pair.fed.wait("keys at the standby", lambda: not begun.running() or pair.cluster("spare").get(*ca), 180, pause=0.1)
    assert begun.running(), "the first copy was over"
    begun.kill()
    pair.play("standby", "-e", "flower_standby_state=absent flower_delete_volumes=true")
    assert pair.cluster("spare").get(*ca) is None and pair.term("spare") is None
    assert pair.cluster("spare").get("v1", "PersistentVolumeClaim", "data-superlink-0", SPACE) is None
