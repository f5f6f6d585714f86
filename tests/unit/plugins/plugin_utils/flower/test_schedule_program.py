# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of a schedule's pods against an API server that speaks pods/exec, over TLS; Flower's answers are given."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import signal
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.programs import schedule_program

APP = "acme/train"
ONLINE = {"out": {"success": True, "nodes": [{"node-id": 1, "status": "online"}, {"node-id": 2, "status": "offline"}]}}
STARTED = {"out": {"success": True, "run-id": 42}}
SETTINGS = {
    "namespace": "flower", "pod": "superlink-0", "container": "superlink", "connection": "hub", "command": ["python", "-c", "loader"], "app": APP,
    "run_config": '"rounds" = 5\n', "overlap": "skip", "min_supernodes": 1, "timeout": 60,
}  # fmt: skip
SUCCESS = {"status": "Success"}


def runs(*states: str, app: str = APP) -> dict[str, Any]:
    return {"out": {"success": True, "runs": [{"run-id": 42 + number, "fab-id": app, "status": state} for number, state in enumerate(states)]}}


def ended(state: str, details: str = "N/A") -> dict[str, Any]:
    return {"out": {"success": True, "runs": [{"run-id": 42, "status": f"finished:{state}", "status-details": details}]}}


class Pod:
    """What the pod answers, request by request: answers to the steps, or a function that breaks the connection."""

    def __init__(self) -> None:
        self.answers: list[list[dict[str, Any]] | str] = []
        self.requests: list[dict[str, Any]] = []

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]] | str:
        self.requests.append(request)
        return self.answers.pop(0)

    @property
    def submissions(self) -> int:
        return sum(request["steps"][0].get("command", [""])[0] == "run" for request in self.requests)


class Handler(BaseHTTPRequestHandler):
    pod: Pod
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        assert self.headers["Authorization"] == "Bearer token"
        assert self.path == (
            "/api/v1/namespaces/flower/pods/superlink-0/exec?command=python&command=-c&command=loader&container=superlink&stdin=true&stdout=true&stderr=true"
        )
        key = hashlib.sha1(f"{self.headers['Sec-WebSocket-Key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", base64.b64encode(key).decode())):
            self.send_header(name, value)
        self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
        self.end_headers()
        self.close_connection = True
        stdin = b""
        while stdin.count(b"\n") < 2:
            opcode, data = self.receive()
            assert (opcode, data[0]) == (2, 0)
            stdin += data[1:]
        program, request = map(json.loads, stdin.splitlines())
        assert program == "the pod program"
        self.send(b"", opcode=9)
        found = self.pod.answer(request)
        if found == "lost":
            return
        if isinstance(found, str):
            self.send(b"\x02" + found.encode())
            status = {"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "1"}]}}
            self.send(b"\x03" + json.dumps(status).encode())
            return
        assert self.receive()[0] == 10, "a ping is answered"
        text = "".join(f"{json.dumps(one)}\n" for one in found) + ".\n"
        for start in range(0, len(text), 200):
            self.send(b"\x01" + text[start : start + 200].encode())
        self.send(b"\x03" + json.dumps(SUCCESS).encode())

    def receive(self) -> tuple[int, bytes]:
        first, second = self.rfile.read(2)
        assert second & 128, "clients mask"
        size = second & 127
        if size > 125:
            (size,) = struct.unpack(">H" if size == 126 else ">Q", self.rfile.read(2 if size == 126 else 8))
        mask = self.rfile.read(4)
        return first & 15, bytes(byte ^ mask[number % 4] for number, byte in enumerate(self.rfile.read(size)))

    def send(self, data: bytes, opcode: int = 2) -> None:
        head = bytes([128 | opcode, len(data)]) if len(data) < 126 else bytes([128 | opcode, 126]) + struct.pack(">H", len(data))
        self.wfile.write(head + data)
        self.wfile.flush()


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, days = tmp_path_factory.mktemp("pki"), datetime.timedelta(days=2)
    ca = certificates.make_ca("cluster", days)
    own = certificates.issue(ca, "api", ["127.0.0.1"], days)
    (folder / "ca.crt").write_text(ca.certificate)
    (folder / "own.pem").write_text(own.certificate + own.key)
    (folder / "token").write_text("token")
    return folder


Run = Callable[..., tuple[int, dict[str, str]]]


@pytest.fixture
def pod() -> Pod:
    return Pod()


@pytest.fixture
def run(pod: Pod, pki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the program; its exit code and termination message."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"pod": pod}))
    server.handle_error = lambda *_given: None  # type: ignore[method-assign]
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(pki / "own.pem")
    server.socket = trust.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.server_port))
    monkeypatch.setattr(schedule_program, "PAUSE", 0.01)
    before = signal.getsignal(signal.SIGTERM)

    def run(**changes: Any) -> tuple[int, dict[str, str]]:
        (tmp_path / "schedule.json").write_text(json.dumps({**SETTINGS, **changes}))
        (tmp_path / "app.tar.gz").write_bytes(b"the app" * 10_000)
        (tmp_path / "pod_program.py").write_text("the pod program")
        code = schedule_program.main(tmp_path, pki, tmp_path / "message")
        return code, json.loads((tmp_path / "message").read_text())

    yield run
    signal.signal(signal.SIGTERM, before)
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_run_is_submitted_and_followed_to_its_end(pod: Pod, run: Run) -> None:
    pod.answers = [[runs("finished:failed"), ONLINE], [STARTED], [runs("running")], "the SuperLink restarts", [ended("completed")]]
    assert run() == (0, {"status": "completed", "run": "42", "why": ""})
    listing, submission, *_waits = pod.requests
    assert listing["steps"][0]["command"] == ["list", "--limit", "1000000000", "hub", "--format", "json"]
    (step,) = submission["steps"]
    assert step["command"] == ["run", "@FOLDER@/app", "hub", "--run-config", "@FOLDER@/run-config.toml", "--format", "json"]
    assert submission["files"] == {"run-config.toml": '"rounds" = 5\n'} and base64.b64decode(submission["archive"]) == b"the app" * 10_000


def test_a_run_that_fails_fails_the_job_with_flowers_reason(pod: Pod, run: Run) -> None:
    pod.answers = [[runs(), ONLINE], [STARTED], [ended("failed", "No heartbeat")]]
    assert run() == (1, {"status": "failed", "run": "42", "why": "No heartbeat"})
    pod.answers = [[runs(), ONLINE], [{"out": {"success": False, "error-message": "Loading\n[code: 600] the app is too big"}}]]
    assert run() == (1, {"status": "refused", "why": "[code: 600] the app is too big"})


@pytest.mark.parametrize(
    ("changes", "active", "why"),
    [
        ({}, runs("finished:completed", "pending"), f"run 43 of {APP} is active"),
        ({"min_supernodes": 2}, runs(), "1 of at least 2 SuperNodes are online"),
    ],
)
def test_a_run_is_skipped(pod: Pod, run: Run, changes: dict[str, Any], active: dict[str, Any], why: str) -> None:
    pod.answers = [[active, ONLINE]]
    assert run(**changes) == (0, {"status": "skipped", "why": why}) and not pod.submissions


@pytest.mark.parametrize("active", [runs("running", app="acme/other"), runs("running")])
def test_other_apps_and_wanted_overlaps_do_not_prevent_a_run(pod: Pod, run: Run, active: dict[str, Any]) -> None:
    pod.answers = [[active, ONLINE], [STARTED], [ended("stopped")]]
    assert run(overlap="allow" if active == runs("running") else "skip") == (1, {"status": "stopped", "run": "42", "why": ""})


def test_a_connection_that_is_lost_while_the_app_is_submitted_starts_no_second_run(pod: Pod, run: Run) -> None:
    pod.answers = [[runs(), ONLINE], "lost"]
    code, found = run()
    assert (code, found["status"], pod.submissions) == (1, "unknown", 1) and "there may be a run" in found["why"]


def test_a_run_that_cannot_be_followed_is_named(pod: Pod, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pod.answers = [[runs(), ONLINE], [STARTED], "the SuperLink is gone"]
    monkeypatch.setattr(schedule_program, "PATIENCE", -1)
    code, found = run()
    assert (code, found["status"], found["run"]) == (1, "unknown", "42") and "may go on" in found["why"] and "is gone" in found["why"]


def test_a_run_that_takes_longer_goes_on(pod: Pod, run: Run) -> None:
    pod.answers = [[runs(), ONLINE], [STARTED], [runs("running")]]
    code, found = run(timeout=0)
    assert (code, found["status"], found["run"]) == (1, "running", "42")


def test_a_hub_that_does_not_answer_fails_the_job(pod: Pod, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_program, "PATIENCE", -1)
    pod.answers = ["no module named flwr"]
    code, found = run()
    assert (code, found["status"]) == (1, "failed") and "no module named flwr" in found["why"] and not pod.submissions
