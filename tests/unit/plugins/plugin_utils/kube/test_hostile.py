# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials and addresses that cannot be used, and answers of something that is not an API server.

The names of files, options and users are shown, the values never.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube import (
    api_errors,
    client,
    cluster_platform,
    exec_plugin,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ApiError,
    AuthError,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import resolve
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.tests.unit.passing_time import Time
from ansible_collections.federated.flower.tests.unit.rows import each_row

SECRET = "s3cr3t-value"
API = "client.authentication.k8s.io/v1"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("K8S_AUTH_", "KUBE")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def kubeconfig(user: Any = None, server: Any = "https://server:6443", **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": server, **cluster}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }


def plugin(path: Path, program: str) -> dict[str, Any]:
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    return {"apiVersion": API, "command": str(path)}


def printing(token: str) -> str:
    status = {"apiVersion": API, "kind": "ExecCredential", "status": {"token": token}}
    return f"cat <<'END'\n{json.dumps(status)}\nEND"


def as_file(path: Path, config: dict[str, Any]) -> str:
    path.write_text(json.dumps(config))
    return str(path)


def options_with(tmp_path: Path, way: str, token: str) -> dict[str, Any]:
    """Options that lead to a token in one of four ways."""
    (tmp_path / "token").write_bytes(token.encode())
    options: dict[str, Any] = {
        "token": {"kubeconfig": kubeconfig({"token": token})},
        "tokenFile": {"kubeconfig": kubeconfig({"tokenFile": str(tmp_path / "token")})},
        "exec": {"kubeconfig": kubeconfig({"exec": plugin(tmp_path / "plugin", printing(token))})},
        "api_key": {"host": "https://server", "api_key": token},
    }
    found: dict[str, Any] = options[way]
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n\n"])
@pytest.mark.parametrize("way", ["token", "tokenFile", "exec", "api_key"])
def test_white_space_around_a_token_is_no_part_of_it(tmp_path: Path, way: str, end: str) -> None:
    access = resolve(options_with(tmp_path, way, SECRET + end))
    assert ("Authorization", f"Bearer {SECRET}") in access.headers and access.renewable is (way in ("tokenFile", "exec"))


@pytest.mark.parametrize("inner", ["\n", "\0", "\x7f", " ", "é"])
@pytest.mark.parametrize("way", ["token", "tokenFile", "exec", "api_key"])
def test_a_token_that_no_header_can_carry_is_not_shown(tmp_path: Path, way: str, inner: str) -> None:
    with pytest.raises(AuthError) as told:
        resolve(options_with(tmp_path, way, f"{SECRET}{inner}rest"))
    assert way in str(told.value), "the option is not named"
    assert SECRET not in str(told.value)


@each_row(
    ("options", "words"),
    [
        ({"host": f"https://user:{SECRET}@server"}, ["option host", "user name or password"]),
        ({"kubeconfig": kubeconfig({"token": "t"}, f"https://user:{SECRET}@server")}, ["server", "the kubeconfig"]),
        ({"host": f"ftp://{SECRET}"}, ["option host", "https://host:port"]),
        ({"host": f"https://server:{SECRET}"}, ["option host", "not a URL"]),
        ({"host": f"https://ser\nver/{SECRET}"}, ["option host", "control character"]),
        ({"host": "https://server", "proxy": f"ftp://user:{SECRET}@proxy"}, ["option proxy", "http, https, socks4"]),
        ({"host": "https://server", "proxy": f"http://user:{SECRET}@proxy:x"}, ["option proxy", "not a URL"]),
        ({"host": "https://server", "proxy": f"http://user:{SECRET}\n@proxy"}, ["option proxy", "control character"]),
        ({"host": "https://server", "proxy": f"http://user:{SECRET}%0a@proxy"}, ["option proxy", "control character"]),
        (
            {"host": "https://server", "proxy": "http://proxy", "proxy_headers": {"proxy_basic_auth": f"u:{SECRET}\n"}},
            ["proxy_headers.proxy_basic_auth"],
        ),
        ({"host": "https://server", "username": "user", "password": f"{SECRET}\n"}, ["password"]),
        ({"host": "https://server", "impersonate_user": f"{SECRET}\n"}, ["impersonate_user"]),
    ],
)
def test_addresses_and_headers_that_cannot_be_used_are_not_shown(options: dict[str, Any], words: list[str]) -> None:
    options = {"api_key": "key", **options} if not {"username", "kubeconfig"} & set(options) else options
    with pytest.raises(AuthError) as told:
        resolve(options)
    assert SECRET not in str(told.value)
    assert all(word in str(told.value) for word in words), str(told.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clusters": [{"name": "k", "cluster": {"server": 5}}]}, ["'server'", "cluster 'k'", "not text"]),
        ({"clusters": [{"name": "k", "cluster": "x"}]}, ["cluster 'k'", "not a mapping"]),
        ({"users": [{"name": "u", "user": "x"}]}, ["user 'u'", "not a mapping"]),
        ({"users": [{"name": "u", "user": {"token": 5}}]}, ["'token'", "user 'u'", "not text"]),
        ({"users": [{"name": "u", "user": {"exec": "x"}}]}, ["'exec'", "user 'u'", "not a mapping"]),
        ({"users": [{"name": "u", "user": {"exec": {"command": ["x"]}}}]}, ["'command'", "exec of user 'u'"]),
        ({"contexts": [{"name": "c", "context": None}]}, ["context 'c'", "not a mapping"]),
        ({"contexts": 5}, ["form of a kubeconfig"]),
    ],
)
def test_entries_of_the_wrong_type(tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    config = {**kubeconfig({"token": "t"}), **changes}
    for given in (as_file(tmp_path / "k", config), config):
        with pytest.raises(AuthError) as told:
            resolve({"kubeconfig": given})
        assert all(word in str(told.value) for word in words), str(told.value)


@each_row("value", [["a"], 5])
def test_a_kubeconfig_that_is_neither_path_nor_content(value: Any) -> None:
    with pytest.raises(AuthError, match="neither a path nor the content"):
        resolve({"kubeconfig": value})


def test_a_file_that_is_not_yaml_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "k").write_text(f"users:\n- token: {SECRET}: [{SECRET}\n  x")
    with pytest.raises(AuthError, match="line ") as told:
        resolve({"kubeconfig": str(tmp_path / "k")})
    assert SECRET not in str(told.value)


def test_a_plugin_that_hangs_is_stopped_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Begun(subprocess.Popen):  # type: ignore[type-arg]
        """Its time counts from when it has started a process."""

        def communicate(self, *given: Any, **options: Any) -> Any:
            deadline = time.monotonic() + 60
            while not (tmp_path / "child").exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            return super().communicate(*given, **options)

    monkeypatch.setattr(exec_plugin.subprocess, "Popen", Begun)
    monkeypatch.setattr(exec_plugin, "LIMIT", 0.2)
    entry = plugin(tmp_path / "plugin", f"sleep 300 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/child; wait")
    with pytest.raises(AuthError, match=r"plugin' of user 'u' returned no credentials: .*within 0.2 s"):
        resolve({"kubeconfig": kubeconfig({"exec": entry})})
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    deadline = time.monotonic() + 60
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "what the plugin started is still running"
        time.sleep(0.05)


def test_a_plugin_that_prints_something_else(tmp_path: Path) -> None:
    for program in (f"echo {SECRET}", "echo null", "echo '[]'"):
        with pytest.raises(AuthError, match="returned no credentials: it did not print") as told:
            resolve({"kubeconfig": kubeconfig({"exec": plugin(tmp_path / "plugin", program)})})
        assert SECRET not in str(told.value)


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server on the loopback; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_PATCH = do_POST = do_GET

        def log_message(self, *_words: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def sending(status: int, kind: str, body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.mark.parametrize(
    ("kind", "body"),
    [("text/html", b"<html>Log in</html>"), ("application/json", b"null"), ("application/json", b"[]")],
)
def test_a_portal_is_not_an_api_server(kind: str, body: bytes) -> None:
    with serving(sending(200, kind, body)) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)})
        with pytest.raises(Unreachable, match=f"c: GET /version: what answers at {url} is not an API server: {kind}"):
            cluster.request("GET", "/version")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_portal_that_refers_to_its_login_page_is_no_platform(status: int) -> None:
    def refer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", "https://login.example/")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with serving(refer) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)})
        with pytest.raises(ClusterError) as error:
            cluster_platform.find_platform(cluster)
    assert error.value.message.startswith("c: what answers there is not an API server") and str(status) in error.value.message
    assert "flower_kubeconfig" in error.value.message and "flower_platform" not in error.value.message


@pytest.mark.parametrize("status", [401, 403])
def test_a_user_without_credentials_is_told_so(status: int) -> None:
    body = json.dumps({"kind": "Status", "message": 'User "system:anonymous" cannot get path "/version"'}).encode()
    with serving(sending(status, "application/json", body)) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": ""}, url)})
        with pytest.raises(Unauthorized, match="the kubeconfig has no usable credentials"):
            cluster.request("GET", "/version")


def test_the_time_limit_holds_for_all_attempts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time()
    monkeypatch.setattr(client.time, "monotonic", clock.monotonic)
    monkeypatch.setattr(client.time, "sleep", clock.sleep)

    def late(handler: BaseHTTPRequestHandler) -> None:
        clock.sleep(8)
        sending(503, "application/json", b"{}")(handler)

    with serving(late) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)}, timeout=20)
        cluster._answered = True  # else there are three attempts at most
        with pytest.raises((Unreachable, ApiError), match="c: "):
            cluster.request("GET", "/version")
    assert cluster.requests == 3 and clock.now < 28


def test_an_answer_that_does_not_come_is_not_waited_for_longer_than_the_limit() -> None:
    over = Event()
    with serving(lambda _handler: over.wait(60)) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)}, timeout=0.5)
        with pytest.raises(Unreachable, match=r"c: the API server .* accepted the connection and did not answer within 0.5 s\..*flower_api_timeout"):
            cluster.request("GET", "/version")
        over.set()


@pytest.mark.parametrize(
    ("method", "kind", "slow", "answered"),
    [
        ("GET", "", 1, True),
        ("GET", "", 2, True),
        ("PATCH", client.APPLY_PATCH, 2, True),
        ("PATCH", "application/merge-patch+json", 1, False),
        ("POST", "", 1, False),
    ],
)
def test_a_read_or_apply_whose_answer_does_not_come_is_tried_again_with_fresh_time(
    method: str, kind: str, slow: int, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first one of a connection: a task begins with one."""
    monkeypatch.setattr(client, "_BACKOFF", (0.01,))
    left, over = iter([True] * slow + [False] * 9), Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if next(left):
            over.wait(20)
        sending(200, "application/json", b"{}")(handler)

    with serving(answer) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)}, timeout=0.4, retry_seconds=30)
        with contextlib.nullcontext() if answered else pytest.raises(Unreachable, match="did not answer within 0.4 s"):
            cluster.request(method, "/version", body=None if method == "GET" else {}, content_type=kind or "application/json")
        assert cluster.requests == (slow + 1 if answered else 1)
        over.set()


def test_a_connection_that_is_not_made_is_no_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_BACKOFF", (0.01,))
    with socket.socket() as full:  # nothing accepts, and nothing more is queued
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with contextlib.ExitStack() as stack:
            for _number in range(4):
                one = stack.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(address)
            cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, f"http://127.0.0.1:{address[1]}")}, timeout=0.5)
            with pytest.raises(Unreachable) as told:
                cluster.request("GET", "/version")
    assert "no connection" in str(told.value) and "Check the route to it" in str(told.value) and "flower_api_timeout" not in str(told.value)


@pytest.mark.parametrize(("header", "pause"), [(None, 2.0), ("0", 2.0), ("nan", 2.0), ("1", 2.0), ("5", 5.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 2.0)])
def test_a_pause_is_never_shorter_than_ones_own(monkeypatch: pytest.MonkeyPatch, header: str | None, pause: float) -> None:
    waited: list[float] = []
    monkeypatch.setattr(client, "_BACKOFF", (2.0,))
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=waited.append))
    cluster = connect({"kubeconfig": kubeconfig({"token": "t"})})
    assert cluster._pauses(1, 60.0, header) and waited == [pause]


def test_one_that_is_lost_is_tried_three_times_until_it_answers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each site of a thousand would wait for it otherwise."""
    pauses: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(client.time, "sleep", sleep)
    monkeypatch.setattr(client.time, "monotonic", lambda: now[0])
    left = iter([200])

    def answer(handler: BaseHTTPRequestHandler) -> None:
        sending(next(left, 503), "application/json", b"{}")(handler)

    with serving(answer) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)})
        cluster.request("GET", "/version")
        for expected in (range(8, 12), range(2, 3)):
            pauses.clear()
            with pytest.raises(Unavailable) as raised:
                cluster.request("GET", "/version")
            assert len(pauses) in expected and not raised.value.unsure
        with pytest.raises(Unavailable) as raised:
            cluster.request("POST", "/version", body={})
        assert raised.value.unsure, "it may have been carried out"


@pytest.mark.parametrize(
    ("answers", "method", "requests"),
    [
        ([200, 500, 502, 503, 504, 429, 200], "GET", 7),  # it restarts, or etcd elects a leader
        ([503, 503, 503, 200], "GET", 3),  # it never answered: three times
        ([200, 502, 200], "PATCH", 3),
        ([200, 500, 200], "PATCH", 2),  # of a webhook
        ([200, 503, 200], "POST", 2),  # it may have been done
    ],
)
def test_one_that_answered_before_is_tried_as_long_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch, answers: list[int], method: str, requests: int
) -> None:
    left = iter(answers)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        sending(next(left), "application/json", b"{}")(handler)

    monkeypatch.setattr(client.time, "sleep", lambda _seconds: None)
    with serving(answer) as url:
        cluster = connect({"kubeconfig": kubeconfig({"token": "t"}, url)})
        good = answers[requests - 1] == 200
        with contextlib.nullcontext() if good else pytest.raises(ApiError, match="c: "):
            if answers[0] == 200:
                cluster.request("GET", "/version")
            cluster.request(method, "/version", body=None if method == "GET" else {}, content_type=client.APPLY_PATCH)
        assert cluster.requests == requests


@each_row(
    ("number", "words"),
    [(113, "No route to host"), (101, "Network is unreachable"), (99, "Cannot assign requested address")],
)
def test_a_network_without_a_route_is_explained(number: int, words: str) -> None:
    said = api_errors.explain(OSError(number, words), "the API server https://h:1", "", "h", 30)
    assert said.startswith(f"the API server https://h:1 cannot be reached: {words}. Check the route") and "flower_kubeconfig" in said
    assert "Errno" not in said
