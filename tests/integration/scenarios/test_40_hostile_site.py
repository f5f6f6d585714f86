# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Sites whose API servers and SuperNodes are hostile: the other sites are deployed, recorded, online and train, and the control node has room.

One hostile site is a member of the federation, in a namespace of the cluster site-b. The others are hosts of the inventory whose API servers never
let them become one. What they answer is in hostile_api.py.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.tests.integration import hostile_api
from ansible_collections.federated.flower.tests.integration.hostile_api import ANSWERS, EXECS, MIB, HostileApi
from ansible_collections.federated.flower.tests.integration.scenarios import gateway_probe, identities
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, GPU
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

OTHERS = ("site-a", "site-b")
MEMBER, CONTEXT, SPACE = "site-c", "site-b", f"{NAMESPACE}-c"
MEMBERS = ("hub", *OTHERS, MEMBER)
MOST = 400_000_000  # bytes of memory of a playbook with all of its processes
LEFT_OVER = 400
CALLS, SHARE = 300, 64  # slow calls of a site, and the default of superlink_gateway_max_site_calls
CALL = "/v1/fleet/push-object"

DEEP, HUGE, ENDLESS, PACKED, SLOW, PAGES = STRANGERS = ("site-deep", "site-huge", "site-endless", "site-packed", "site-slow", "site-pages")
ALL, FIRST_WRITE, LISTS = ".", "^PATCH (?!.*dryRun)", "[?&]limit="
#: Host -> requests that have a hostile answer, the answer, and words of the host's error.
IN_SITE = {
    DEEP: (ALL, ANSWERS["deep lists"], "nested too deeply"),
    HUGE: (ALL, ANSWERS["2^31 bytes"], "larger than 16 MiB"),
    ENDLESS: (FIRST_WRITE, ANSWERS["endless list"], "larger than 16 MiB"),
    PACKED: (ALL, ANSWERS["compressed"], "is not an API server"),
    SLOW: (ALL, hostile_api.dripping(hostile_api.head(f"Content-Length: {2**31}"), seconds=1), "did not answer within 5 s"),
    PAGES: (LISTS, hostile_api.pages(objects=30_000), "is not read to its end"),
}
IN_STATUS = {
    DEEP: (ALL, ANSWERS["deep objects"], "nested more than 200 levels deep"),
    HUGE: (ALL, ANSWERS["2^32 + 10 bytes"], "larger than 16 MiB"),
    ENDLESS: (ALL, ANSWERS["as many small objects as are read"], "is not an API server"),
    PACKED: (ALL, ANSWERS["compressed error"], "GET /apis/apps/v1/"),
    SLOW: (ALL, ANSWERS["slow headers"], "did not answer within 5 s"),
    PAGES: (ALL, ANSWERS["endless pieces"], "larger than 16 MiB"),
}
#: Where hosts that pass the checks would be: two of them in one namespace are refused.
PLACES = {ENDLESS: f"{NAMESPACE}-far", PAGES: f"{NAMESPACE}-by"}


class Memory(threading.Thread):
    """Samples the memory of all processes that this one starts.

    Attributes:
        together: the most that they had at the same time, in bytes; pages that they share are counted once.
        largest: the most that one of them had, in bytes, as the kernel counted it.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.together = self.largest = 0
        self._over = threading.Event()

    def __enter__(self) -> Memory:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Sample."""
        while not self._over.wait(0.2):
            pids = _children(str(os.getpid()))
            self.together = max(self.together, 1024 * sum(_kilobytes(pid, "smaps_rollup", "Pss") for pid in pids))
            self.largest = max([self.largest, *(1024 * _kilobytes(pid, "status", "VmHWM") for pid in pids)])


def _children(pid: str) -> list[str]:
    """The processes that one has started, and those that they have."""
    found: list[str] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # it has ended
            found += path.read_text(encoding="utf-8").split()
    return found + [one for child in found for one in _children(child)]


def _kilobytes(pid: str, file: str, name: str) -> int:
    """A number of a process; 0 of one that has ended."""
    with suppress(OSError):
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8"), re.M)
        return int(found[1]) if found else 0
    return 0


class World:
    """The federation, and the API server of the hostile sites."""

    def __init__(self, fed: Any, folder: Path) -> None:
        self.fed, self.kubeconfig = fed, folder / "kubeconfig"
        config = yaml.safe_load(fed.kubeconfig.read_text(encoding="utf-8"))
        cluster = identities.entry(config, CONTEXT)
        (named,) = (one["context"]["user"] for one in config["contexts"] if one["name"] == CONTEXT)
        (user,) = (one["user"] for one in config["users"] if one["name"] == named)
        identity = "".join(_decoded(user[f"client-{part}-data"]) for part in ("certificate", "key"))
        day = datetime.timedelta(days=1)
        authority = certificates.make_ca("hostile", day)
        leaf = certificates.issue(authority, "localhost", ["localhost"], day)
        (folder / "server.pem").write_text(leaf.certificate + leaf.key, encoding="utf-8")
        self.api = HostileApi(cluster["server"], _decoded(cluster["certificate-authority-data"]), identity, folder / "server.pem")
        ca = base64.b64encode(authority.certificate.encode()).decode()
        clusters = {name: {"server": f"{self.api.url}/{name}", "certificate-authority-data": ca} for name in (MEMBER, *STRANGERS)}
        made = identities.kubeconfig(clusters, dict.fromkeys(clusters, {"token": "of-nobody"}))
        self.kubeconfig.write_text(json.dumps(made), encoding="utf-8")

    def hosts(self) -> dict[str, dict[str, Any]]:
        """The hub, two good sites, and the hostile ones."""
        hosts = self.fed.base()
        for name in (MEMBER, *STRANGERS):
            pool = {**GPU, "node_config": {"site": "{cluster}"}} if name == PAGES else {"name": "cpu", "replicas": 1, "node_config": {"site": "{cluster}"}}
            place = SPACE if name == MEMBER else PLACES.get(name, f"{NAMESPACE}-wrong")
            hosts[name] = {"flower_kubeconfig": str(self.kubeconfig), "flower_context": name, "supernode_namespace": place, "supernode_pools": [pool]}
        hosts[SLOW]["flower_api_timeout"] = 5
        return hosts

    def answer(self, strangers: dict[str, Any], *member: Any) -> None:
        """Set what is answered from now on."""
        self.api.refused = {}
        self.api.rules = {name: [(pattern, answer)] for name, (pattern, answer, _words) in strangers.items()} | {MEMBER: list(member)}

    def play(self, playbook: str, *arguments: str, rc: int = 0, **common: Any) -> Any:
        """Run a playbook for all of them, in little memory."""
        with Memory() as memory:
            run = self.fed.play(playbook, *arguments, hosts=self.hosts(), rc=rc, **common)
        print(f"{playbook}: {memory.together / 1e6:.0f} MB, the largest process {memory.largest / 1e6:.0f} MB")
        assert 0 < max(memory.together, memory.largest) <= MOST, (memory.together, memory.largest)
        return run

    def nodes(self) -> list[str]:
        """Node ids of the good sites."""
        return [node for site in OTHERS for node in self.fed.keys(site).values()]

    def lives(self) -> list[dict[str, tuple[str, int]]]:
        """Pods of the hub and the good sites, which are equal before and after when nothing was touched."""
        return [self.fed.lives("hub", name="superlink"), *map(self.fed.lives, OTHERS)]


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()


@pytest.fixture(scope="module")
def world(federation: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Clusters without a federation, and the hostile API server. Nothing stays: later scenarios would read a long audit trail."""
    federation.clear()
    federation.settled = False
    made = World(federation, tmp_path_factory.mktemp("hostile"))
    yield made
    made.api.close()
    federation.clear()
    federation.settled = False


def test_the_other_sites_are_deployed(world):
    fed = world.fed
    world.answer(IN_SITE, ("/exec[?]", EXECS["endless output"]))
    run = world.play("site", rc=2)
    assert {host: numbers["failed"] for host, numbers in run.recap.items()} == {host: int(host in STRANGERS) for host in world.hosts()}
    for host, (_pattern, _answer, words) in IN_SITE.items():
        said = run.messages(host, failed=True)
        assert said.startswith(f"{host}: ") and words in said and len(said) < 3000, (host, said)
        assert world.api.refused[host], f"{host} has given no hostile answer: this shows nothing"
    assert len(world.api.refused[SLOW]) <= 6, "it was waited for again and again"
    assert [len(fed.keys(site)) for site in OTHERS] == [2, 1]
    fed.wait_online(*world.nodes())

    whole = fed.recorded(0)
    # The others failed the checks, before the task that changes sites.
    assert set(whole["sites"]) >= {*MEMBERS} and set(whole["failed"]) == {ENDLESS}, whole["failed"]
    for site, pool in zip(OTHERS, ("cpu", "gpu")):
        assert f"StatefulSet {NAMESPACE}/supernode-{pool}" in {one["object"] for one in fed.noted(whole, site, "objects", "created")}
        assert fed.noted(whole, site, "keys", "registered")


def test_what_a_hostile_site_makes_a_run_record_keeps_nothing_else_out(world):
    fed = world.fed
    before, lives = len(fed.trail()), world.lives()
    world.answer({}, *hostile_api.leftovers(LEFT_OVER), ("/exec[?]", EXECS["endless errors"]))
    world.play("site", "--limit", ",".join(MEMBERS), flower_annotations={"scenario/hostile": "yes"})
    entries = fed.trail()[before:]
    parts = [entry for entry in entries if "parts" in entry]
    assert len(parts) > 4 and {(entry["id"], entry["parts"]) for entry in parts} == {(parts[0]["id"], len(parts))}
    assert max(len(canonical(entry)) for entry in parts) < audit_notes.LIMIT + 4096
    whole = fed.recorded(before)
    assert len(fed.noted(whole, MEMBER, "objects", "deleted")) == LEFT_OVER
    for site in OTHERS:
        assert f"ConfigMap {NAMESPACE}/supernode-trust" in {one["object"] for one in fed.noted(whole, site, "objects", "changed")}
    assert world.lives()[1:] == lives[1:]
    fed.wait_online(*world.nodes())


def test_the_status_has_all_sites(world):
    workload, pod = hostile_api.talkative_pods()
    world.answer(
        IN_STATUS,
        ("^GET [^?]*/statefulsets[?]", hostile_api.document({"items": [workload]})),
        ("^GET [^?]*/pods[?]", hostile_api.document({"items": [pod]})),
    )
    run = world.play("status", "-e", "flower_status_format=json")
    report = run.report
    assert {site["cluster"]: site["reachable"] for site in report["sites"]} == {host: host not in STRANGERS for host in world.hosts() if host != "hub"}
    online = {site["cluster"]: [pool["online"] for pool in site["pools"]] for site in report["sites"]}
    assert [online[site] for site in OTHERS] == [[2], [1]]
    for host, (_pattern, _answer, words) in IN_STATUS.items():
        assert any(problem.startswith(f"{host}: ") and words in problem for problem in report["problems"]), (host, report["problems"])
        assert world.api.refused[host]
    (said,) = (problem for problem in report["problems"] if problem.startswith(f"{MEMBER}: supernode-cpu-0 (Pending)"))
    assert len(said) < 2100 and "\x1b" not in said
    assert run.log.stat().st_size < 10 * MIB


class SlowCalls(threading.Thread):
    """Has many calls of one site go on at the same time, each with a byte of its body every few seconds; those that end are made again.

    Attributes:
        refused: how many were ended by the gateway.
        most: how many at most went on for longer than a moment.
    """

    def __init__(self, door: dict[str, Any], context: ssl.SSLContext) -> None:
        super().__init__(daemon=True)
        self.door, self.context = door, context
        self.refused = self.most = 0
        self._over = threading.Event()

    def __enter__(self) -> SlowCalls:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Call."""
        calls: list[ssl.SSLSocket] = []
        while not self._over.wait(5):
            going = [call for call in calls if self._goes_on(call)]
            self.refused += len(calls) - len(going)
            self.most = max(self.most, len(going))
            calls = going
            with suppress(OSError):  # the gateway takes no more
                while len(calls) < CALLS and not self._over.is_set():
                    calls.append(begin(self.door, self.context, 8_000_000))
                    calls[-1].setblocking(False)
        for call in calls:
            call.close()

    @staticmethod
    def _goes_on(call: ssl.SSLSocket) -> bool:
        """Send a byte; whether the gateway has neither answered nor closed the connection."""
        try:
            call.recv(4096)
        except ssl.SSLWantReadError:
            with suppress(OSError):
                call.send(b"x")
                return True
        except OSError:
            pass
        call.close()
        return False


def begin(door: dict[str, Any], context: ssl.SSLContext, length: int) -> ssl.SSLSocket:
    """Begin a call with a body of so many bytes, and send one of them."""
    plain = socket.create_connection((door["host"], door["port"]), timeout=30)
    connection = context.wrap_socket(plain)
    kind = "application/protobuf"  # without it the SuperLink answers before it reads the body
    connection.sendall(f"POST {CALL} HTTP/1.1\r\nHost: hub\r\nContent-Type: {kind}\r\nAccept: {kind}\r\nContent-Length: {length}\r\n\r\nx".encode())
    return connection


def test_slow_and_huge_calls_of_a_hostile_site_leave_the_superlink_to_the_others(world):
    fed = world.fed
    world.answer({}, ("/exec[?]", EXECS["endless output"]))  # asked for packages when the run is submitted
    lives, door = world.lives(), fed.door()
    context = gateway_probe.context(fed.identity(CONTEXT, SPACE))
    for length in (2**31, 2**32 + 10):
        with begin(door, context, length) as connection:
            assert connection.recv(4096).split()[1] == b"503"
            with suppress(OSError):  # the gateway closes the connection
                for _mebibyte in range(64):
                    connection.sendall(b"x" * MIB)
    with SlowCalls(door, context) as slow:
        fed.wait("calls beyond the share of the site", lambda: slow.refused, 120)
        given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 2, "min-nodes": 3}}
        run = world.play("run", "-e", json.dumps(given))
        fed.wait_online(*world.nodes(), seconds=1)
    assert world.api.refused[MEMBER]
    assert 0 < slow.most <= SHARE, slow.most
    rounds = re.findall(r"round \d+: [^\n\"]*?\(\d+ nodes, \d+ examples; ([^)]*)\)", run.messages())
    assert rounds and all({"site-a 2", "site-b 1"} <= set(sites.split(", ")) for sites in rounds), run.messages()
    assert "finished:completed" in fed.app_runs().values()
    assert world.lives() == lives
