# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Allowed connections: NetworkPolicies are read back from the API servers and an analyser (cyclonus) is asked.

The fleet's network enforces no policies, so nothing is sent. The analyser goes by the API's rules: it knows no nodes
(kubelet's probes), no address translation and no network plugin.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

Policies = list[dict[str, Any]]
Port = tuple[int, str]
Pair = tuple[str, str]
Table = dict[Pair, set[Port]]

PORTS: list[Port] = [(port, "TCP") for port in (53, 443, 8000, 8404, 8990, 8991, 9091, 9092)] + [(53, "UDP")]
DNS = {(53, "TCP"), (53, "UDP")}
OUTSIDE = {"IP": "203.0.113.7"}
CACHE = {"k8s-app": "node-local-dns"}
NAMES = dict.fromkeys(("dns", "cache", "cache of the node"), DNS)
DIRECTIONS = ("Ingress", "Egress")


@dataclass(frozen=True)
class Analyser:
    """cyclonus, built from its Go module."""

    program: Path
    folder: Path

    def allowed(self, policies: Policies, queries: list[dict[str, Any]], *, simplify: bool = True) -> list[bool]:
        """For each query whether its traffic is allowed."""
        (self.folder / "policies.json").write_text(json.dumps({"items": policies}))
        (self.folder / "traffic.json").write_text(json.dumps(queries))
        command = [
            str(self.program),
            "analyze",
            "--mode",
            "query-traffic",
            f"--simplify-policies={str(simplify).lower()}",
        ]
        command += [
            "--policy-path",
            str(self.folder / "policies.json"),
            "--traffic-path",
            str(self.folder / "traffic.json"),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert run.returncode == 0, run.stderr[-2000:]
        words = re.findall(r"IS ALLOWED\?\s*\|\s*(TRUE|FALSE)", run.stdout)
        assert len(words) == len(queries), f"{len(words)} answers to {len(queries)} questions: {run.stdout[:500]}"
        return [word == "TRUE" for word in words]


@dataclass
class Scene:
    """One cluster: its policies, who there is, and what is wanted.

    Attributes:
        peers: name -> where it is (as cyclonus has it).
        calls: closed peer -> whom it may call on which ports; of peers that are not in here nothing is wanted.
        called: closed peer -> who may call it on which ports.
        ports: to be asked.
    """

    policies: Policies
    peers: dict[str, dict[str, Any]]
    calls: dict[str, dict[str, set[Port]]]
    called: dict[str, dict[str, set[Port]]]
    ports: list[Port] = field(default_factory=lambda: list(PORTS))

    @property
    def pairs(self) -> list[Pair]:
        """Every peer with every other."""
        return [(one, other) for one in self.peers for other in self.peers if one != other]

    def wanted(self, direction: str) -> Table:
        """What one direction's policies should allow."""
        everything = set(self.ports)
        if direction == "Egress":
            return {
                (one, two): self.calls[one].get(two, set()) if one in self.calls else everything
                for one, two in self.pairs
            }
        return {
            (one, two): self.called[two].get(one, set()) if two in self.called else everything
            for one, two in self.pairs
        }

    def found(self, analyser: Analyser, policies: Policies, **options: Any) -> Table:
        """What policies allow according to the analyser."""
        questions = [(pair, port) for pair in self.pairs for port in self.ports]
        queries = [
            {
                "Source": self.peers[source],
                "Destination": self.peers[destination],
                "ResolvedPort": port,
                "Protocol": protocol,
            }
            for (source, destination), (port, protocol) in questions
        ]
        table: Table = {pair: set() for pair in self.pairs}
        for (pair, port), allowed in zip(questions, analyser.allowed(policies, queries, **options)):
            if allowed:
                table[pair].add(port)
        return table

    def lines(self, table: Table) -> Iterator[str]:
        """The table for people: a row calls a column."""
        cells = [["calls ->", *self.peers]]
        for one in self.peers:
            cells.append([one] + ["." if one == two else self._cell(table[one, two]) for two in self.peers])
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        for row in cells:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()

    def _cell(self, ports: set[Port]) -> str:
        if ports == set(self.ports):
            return "all"
        numbers = sorted({port for port, _protocol in ports})
        return " ".join(map(str, numbers)) or "-"


def only(direction: str, policies: Policies) -> Policies:
    """Of each policy what it says of one direction."""
    left = copy.deepcopy(policies)
    for policy in left:
        policy["spec"]["policyTypes"] = [kind for kind in policy["spec"]["policyTypes"] if kind == direction]
        policy["spec"].pop({"Ingress": "egress", "Egress": "ingress"}[direction], None)
    return [policy for policy in left if policy["spec"]["policyTypes"]]


@pytest.fixture(scope="session")
def analyser(tmp_path_factory) -> Analyser:
    """The analyser; its first build takes a minute or two, later ones nothing."""
    fleet = Path(__file__).parents[2] / "fleet"
    run = subprocess.run([sys.executable, str(fleet), "tool", "cyclonus"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return Analyser(Path(run.stdout.splitlines()[-1]) / "cyclonus", tmp_path_factory.mktemp("cyclonus"))


def policies_of(fed, context: str) -> Policies:
    """Every NetworkPolicy of a cluster, as its API server has it."""
    return fed.cluster(context).list("networking.k8s.io/v1", "NetworkPolicy")


def placed(fed, context: str, namespace: str, labels: dict[str, str], ip: str = "192.0.2.99") -> dict[str, Any]:
    """A pod for the analyser; the namespace's labels are the live ones."""
    found = fed.cluster(context).get("v1", "Namespace", namespace)
    # The API server puts this label on every namespace, so also on one that is not there yet.
    known = found["metadata"]["labels"] if found else {"kubernetes.io/metadata.name": namespace}
    return {"IP": ip, "Internal": {"Namespace": namespace, "NamespaceLabels": known, "PodLabels": labels}}


def live(fed, context: str, pod: dict[str, Any]) -> dict[str, Any]:
    """A pod that is there."""
    meta = pod["metadata"]
    return placed(fed, context, meta["namespace"], meta["labels"], pod["status"]["podIP"])


def strangers(fed, context: str) -> dict[str, dict[str, Any]]:
    """Pods that have nothing to do with the federation, but for the DNS server all made up."""
    (dns, *_more) = fed.cluster(context).list("v1", "Pod", "kube-system", labels="k8s-app=kube-dns")
    return {
        "stranger": placed(fed, context, fed.namespace, {"app": "stranger"}),
        "elsewhere": placed(fed, context, "default", {"k8s-app": "kube-dns"}),  # passes for a DNS server
        "cache elsewhere": placed(fed, context, "default", CACHE),
        "cache": placed(fed, context, "kube-system", CACHE),
        "cache of the node": {"IP": "169.254.20.10"},
        "system": placed(fed, context, "kube-system", {"app": "stranger"}),
        "monitoring": placed(fed, context, "monitoring", {"app": "prometheus"}),
        "dns": live(fed, context, dns),
        "outside": OUTSIDE,
    }


def hub(fed) -> Scene:
    """The hub's cluster."""
    (superlink,) = fed.pods("hub", name="superlink").values()
    (serverapp,) = fed.pods("hub", name="serverapp").values()
    peers = {
        "superlink": live(fed, "hub", superlink),
        "serverapp": live(fed, "hub", serverapp),
        **strangers(fed, "hub"),
        "in the CA's": placed(fed, "hub", f"{fed.namespace}-ca", {"app": "stranger"}),
    }
    sites = {(9092, "TCP")}
    anybody = {name: set(sites) for name in peers}
    return Scene(
        policies_of(fed, "hub"),
        peers,
        calls={
            "superlink": dict(NAMES),
            "serverapp": {**NAMES, "superlink": {(9091, "TCP")}},
            "stranger": {},
            "in the CA's": {},
        },
        called={
            "superlink": {
                **anybody,
                "serverapp": {(9091, "TCP"), *sites},
                "monitoring": {(8404, "TCP"), *sites},
            },
            "serverapp": {},
            "stranger": {},
            "in the CA's": {},
        },
    )


def site(fed) -> Scene:
    """The cluster of site-a, which has two SuperNodes."""
    published = fed.hub.get("v1", "ConfigMap", "flower-federation", fed.namespace)["data"]["address"]
    address, _colon, port = published.rpartition(":")
    first, second = fed.pods("site-a").values()
    (superlink,) = fed.pods("hub", name="superlink").values()
    peers = {
        "supernode": live(fed, "site-a", first),
        "another supernode": live(fed, "site-a", second),
        "the hub": {"IP": address},
        # As if this were the hub's cluster.
        "the hub's pod": placed(fed, "site-a", fed.namespace, superlink["metadata"]["labels"]),
        "a pod elsewhere": placed(fed, "site-a", "default", superlink["metadata"]["labels"]),
        **strangers(fed, "site-a"),
    }
    way = {**NAMES, "the hub": {(int(port), "TCP")}, "the hub's pod": {(9092, "TCP")}}
    metrics = {"monitoring": {(8404, "TCP")}}
    return Scene(
        policies_of(fed, "site-a"),
        peers,
        calls={"supernode": way, "another supernode": way, "stranger": {}, "the hub's pod": {}},
        called={"supernode": metrics, "another supernode": metrics, "stranger": {}, "the hub's pod": {}},
        ports=[*PORTS, (int(port), "TCP")],
    )


@pytest.fixture(scope="module")
def scenes(federation) -> dict[str, Scene]:
    """Both kinds of clusters, once the federation is there."""
    federation.settle()
    return {"hub": hub(federation), "site": site(federation)}


@pytest.mark.parametrize("name", ["hub", "site"])
def test_who_may_talk_to_whom(name, scenes, analyser, capsys):
    scene = scenes[name]
    found = {direction: scene.found(analyser, only(direction, scene.policies)) for direction in DIRECTIONS}
    both = scene.found(analyser, scene.policies)
    with capsys.disabled():
        print(f"\n\nNetworkPolicies of {name}: a row may call a column on the TCP ports (53: UDP, too)")
        print("\n".join(scene.lines(both)), end="\n\n")
    for direction in DIRECTIONS:
        wanted = scene.wanted(direction)
        wrong = {
            pair: (found[direction][pair], wanted[pair]) for pair in wanted if found[direction][pair] != wanted[pair]
        }
        assert not wrong, f"{direction}: pair -> (allowed, wanted): {wrong}"
    assert both == {pair: found["Ingress"][pair] & found["Egress"][pair] for pair in both}
    assert both == scene.found(analyser, scene.policies, simplify=False), "the analyser contradicts itself"


def loosened(policies: Policies) -> Iterator[tuple[dict[str, Any], str, str, Policies]]:
    """(Policy, what was done, direction, policies) for every single thing that could be left out of a policy."""
    for number, policy in enumerate(policies):
        name = f"{policy['metadata']['namespace']}/{policy['metadata']['name']}"
        for direction in policy["spec"]["policyTypes"]:
            closed = copy.deepcopy(policies)
            closed[number]["spec"]["policyTypes"].remove(direction)
            yield policy, f"{name} does not say {direction}", direction, closed
            key, side = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}[direction]
            wide = copy.deepcopy(policies)
            wide[number]["spec"][key] = [{}]
            yield policy, f"{name} allows all {direction}", direction, wide
            for index, rule in enumerate(policy["spec"].get(key, [])):
                for part in rule:
                    changed = copy.deepcopy(policies)
                    del changed[number]["spec"][key][index][part]
                    yield policy, f"{name}: {key}[{index}] without {part}", direction, changed
                for place, peer in enumerate(rule.get(side, [])):
                    for part in peer:
                        changed = copy.deepcopy(policies)
                        at = changed[number]["spec"][key][index][side][place]
                        if part == "ipBlock":
                            at[part] = {"cidr": "0.0.0.0/0"}
                        else:
                            at[part] = {}
                        yield policy, f"{name}: {key}[{index}].{side}[{place}] with any {part}", direction, changed


def alone(scene: Scene) -> Scene:
    """The same in someone else's namespace: nothing closes pods but the policies made for them."""
    closed = ("stranger", "in the CA's", "the hub's pod")
    return replace(
        scene,
        policies=[policy for policy in scene.policies if not default_deny(policy)],
        calls={name: found for name, found in scene.calls.items() if name not in closed},
        called={name: found for name, found in scene.called.items() if name not in closed},
    )


def default_deny(policy: dict[str, Any]) -> bool:
    return policy["metadata"]["name"].endswith("-default-deny")


@pytest.mark.parametrize("name", ["hub", "site"])
def test_a_loosened_policy_is_noticed(name, scenes, analyser, federation):
    spaces = {federation.namespace, f"{federation.namespace}-ca"}
    tried, unnoticed = 0, []
    # What closes all pods would hide what is left out of the policies of some.
    for scene, looked_at in ((scenes[name], True), (alone(scenes[name]), False)):
        own = [policy for policy in scene.policies if policy["metadata"]["namespace"] in spaces]
        wanted = {direction: scene.wanted(direction) for direction in DIRECTIONS}
        for direction in DIRECTIONS:
            assert scene.found(analyser, only(direction, own)) == wanted[direction], direction
        for policy, what, direction, policies in loosened(own):
            if default_deny(policy) == looked_at:
                tried += 1
                if scene.found(analyser, only(direction, policies)) == wanted[direction]:
                    unnoticed.append(what)
    assert tried > 10
    assert not unnoticed, f"of {tried} changes these were not noticed: {unnoticed}"
