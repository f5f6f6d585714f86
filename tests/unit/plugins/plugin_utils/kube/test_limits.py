# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server that gives endless, deep, huge, slow or compressed answers: it ends the work on its own site only, in time and little memory."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import tracemalloc
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import foreign_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.kube import client
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.programs import pod_program
from ansible_collections.federated.flower.tests.integration.hostile_api import (
    ANSWERS,
    EXECS,
    MIB,
    Answer,
    head,
    pages,
    whole,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

#: What a server may do until it notices that it is not read any more.
_GIVEN_UP = (OSError,)


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """A server on the loopback that reads the head of each request and leaves the answer to a function; its URL."""
    over = Event()

    def talk(connection: socket.socket) -> None:
        with connection, contextlib.suppress(*_GIVEN_UP):
            head = b""
            while not over.is_set():
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    head += piece
                request, _end, head = head.partition(b"\r\n\r\n")
                answer(connection, request.decode())

    def accept() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                connection, _address = listener.accept()
                connection.settimeout(30)
                Thread(target=talk, args=(connection,), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.close()


def site(url: str, timeout: float = 10) -> Cluster:
    return connect({"host": url, "api_key": "t"}, timeout=timeout)


class Journal:
    """What Outcomes want of a run."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}

    def failed(self, name: str, message: str) -> None:
        self.told[name] = message

    def note(self, site: str | None = None, **facts: Any) -> None:
        """Nothing is recorded."""

    def say_details(self, text: str) -> None:
        """Nothing is shown."""


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_hostile_api_server_ends_its_own_site_only(kind: str) -> None:
    good = whole(b'{"gitVersion": "v1.34.0"}')
    with serving(ANSWERS[kind]) as hostile, serving(good) as first, serving(good) as last:
        sites = {"site-a": site(first), "site-hostile": site(hostile, 1.5), "site-z": site(last)}
        journal = Journal()
        outcomes = Outcomes(journal, sites, 1)  # type: ignore[arg-type]
        if kind != "as many small objects as are read":  # its memory is that of test_what_a_document_weighs; to trace it takes ten times as long
            tracemalloc.start()
        begun = time.monotonic()
        found = outcomes.each(lambda name: sites[name].request("GET", "/version"))
        took, (_now, peak) = time.monotonic() - begun, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert sorted(found) == ["site-a", "site-z"] and list(journal.told) == ["site-hostile"]
    assert journal.told["site-hostile"].startswith(("site-hostile: ", "127.0.0.1")) and "unexpected" not in journal.told["site-hostile"]
    assert len(journal.told["site-hostile"]) < 3000 and not foreign_data.CONTROL.search(journal.told["site-hostile"])
    assert peak < 300 * MIB, f"{peak / MIB:.0f} MiB"
    assert took < 120


@pytest.mark.parametrize(
    ("served", "seconds", "requests"),
    [
        (pages(objects=1), 60, range(30, 31)),
        (pages(objects=0), 60, range(30, 31)),
        (pages(objects=50, size=20_000), 60, range(8, 20)),  # 10 MiB are enough
        (pages(objects=1, pause=0.05), 0.2, range(2, 20)),
    ],
)
def test_a_list_has_an_end(monkeypatch: pytest.MonkeyPatch, served: Answer, seconds: float, requests: range) -> None:
    monkeypatch.setattr(client, "_PAGES", 30)
    with serving(served) as url:
        cluster = site(url, seconds)
        cluster.max_list_bytes = 10 * MIB
        with pytest.raises(ClusterError, match="the list of nodes is not read to its end"):
            cluster.list("v1", "Node")
    assert cluster.requests in requests


def test_a_page_that_is_larger_than_what_is_left_for_the_list_is_not_kept() -> None:
    with serving(pages(objects=100_000)) as url, pytest.raises(ClusterError, match="not read to its end.* 0 objects were read"):
        cluster = site(url, 60)
        cluster.max_list_bytes = MIB
        cluster.list("v1", "Node")


@each_row(
    "value",
    [
        '{"metadata":{"name":"n%d"}}', '{"a":{"b":{}}}', '{"a":%d}', '{"k%d":"v%d"}', '{"a":"n%d","b":1,"c":[],"d":{},"e":2.5,"f":"n%d"}',
        "[]", "[[%d]]", '"n%d"', "1%d", "1.%d", "null",
    ],
)  # fmt: skip
def test_what_a_document_weighs_is_what_its_values_take_in_memory(value: str) -> None:
    text = "[" + ",".join(value.replace("%d", str(number)) for number in range(1000, 6000)) + "]"
    tracemalloc.start()
    found = json.loads(text)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(found) == 5000 and taken < 1.15 * foreign_data.memory_bytes(text)


def test_a_list_of_large_objects_comes_in_smaller_pages() -> None:
    asked: list[int] = []

    def answer(connection: socket.socket, request: str) -> None:
        limit = int(request.partition("limit=")[2].split()[0].split("&")[0])
        at = int(request.partition("continue=")[2].split()[0].split("&")[0] or 0) if "continue=" in request else 0
        asked.append(limit)
        end = min(at + limit, 40)
        items = [{"metadata": {"name": f"n{number}"}, "data": {"x": "y" * MIB}} for number in range(at, end)]
        whole(json.dumps({"metadata": {"continue": str(end) if end < 40 else ""}, "items": items}).encode())(connection, request)

    with serving(answer) as url:
        found = site(url, 30).list("v1", "ConfigMap")
    assert [one["metadata"]["name"] for one in found] == [f"n{number}" for number in range(40)]
    assert asked[0] == 500 and asked[-1] < 16


@pytest.mark.parametrize("kind", EXECS)
def test_an_exec_has_an_end(kind: str) -> None:
    with serving(EXECS[kind]) as url:
        tracemalloc.start()
        begun = time.monotonic()
        with pytest.raises(ClusterError, match=r"127\.0\.0\.1"):
            in_pod.run(site(url, 0.5), "flower", "superlink-0", "superlink", pod_program, {}, seconds=0.5)
        took, (_now, peak) = time.monotonic() - begun, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 150 * MIB, f"{peak / MIB:.0f} MiB"
    assert took < 15


def test_a_line_that_comes_in_pieces_is_read_in_linear_time() -> None:
    def seconds(pieces: int) -> float:
        lines = foreign_data.Lines()
        begun = time.process_time()
        for _piece in range(pieces):
            assert not lines.feed(b"x" * 4096)
        assert [len(line) for line in lines.feed(b"\n")] == [pieces * 4096]
        return time.process_time() - begun

    seconds(100)
    assert seconds(3600) < 40 * max(seconds(360), 0.001)


def test_an_exec_that_is_redirected_takes_no_credentials_along() -> None:
    asked: list[str] = []
    with serving(lambda _connection, request: asked.append(request)) as other:
        moved = f"HTTP/1.1 302 Found\r\nLocation: {other.replace('http', 'ws')}/x\r\nContent-Length: 0\r\n\r\n".encode()
        with serving(lambda connection, _request: connection.sendall(moved)) as url, pytest.raises(ClusterError, match="[Rr]edirect"):
            site(url, 2).exec("flower", "superlink-0", "superlink", ["true"])
    assert asked == []


def test_what_a_good_api_server_sends_is_read() -> None:
    body = json.dumps({"items": ["x" * 1000] * 8000}).encode()
    parts = [body[at : at + 5000] for at in range(0, len(body), 5000)]
    pieces = b"".join(f"{len(one):x}\r\n".encode() + one + b"\r\n" for one in parts) + b"0\r\n\r\n"

    def answer(connection: socket.socket, request: str) -> None:
        if "/pieces" in request:
            connection.sendall(head("Transfer-Encoding: chunked") + pieces)
        elif "/close" in request:
            connection.sendall(head("Connection: close") + body)
            connection.shutdown(socket.SHUT_RDWR)
        else:
            whole(body)(connection, request)

    with serving(answer) as url:
        cluster = site(url)
        for path in ("/pieces", "/whole", "/close", "/whole", "/pieces"):
            assert cluster.request("GET", path) == json.loads(body)


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one() -> None:
    def answer(connection: socket.socket, _request: str) -> None:
        connection.sendall(head("Content-Length: 100") + b"{}")
        connection.close()

    with serving(answer) as url, pytest.raises(ClusterError, match="127"):
        site(url, 2).request("POST", "/x", body={})
