# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in the pod of a CronJob on the hub: start one run of an app with Flower's command line, and follow it to its end.

Flower's Control API listens in the SuperLink's pod alone. So C(pod_program), which lies beside this file, is executed there by the stream
protocol of pods/exec, with the rights of a data scientist. The pod has Python's standard library only.

A run is submitted once: where it is not known whether a submission arrived, this fails. What became of it is the termination message of the
container, and the exit code: 0 for a run that completed or was skipped, as its settings say.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import sys
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

PROTOCOL = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR = range(4)
CHUNK = 32 * 1024
MOST = 16 * 1024 * 1024  # bytes of one frame, and of all output
PATIENCE = 600.0  # seconds without an answer, as while the SuperLink restarts
ATTEMPTS = (0, 2, 10, 30)  # pauses before attempts to submit the same request
SLICE = 100.0  # seconds of one wait for the end of a run
PAUSE = 10.0  # seconds between two attempts
COMPLETE = "."  # what C(in_pod.LOADER) prints at the end
FAULTS = (OSError, ValueError, KeyError, TypeError, AttributeError, http.client.HTTPException)  # of connections, and of answers that are none


class Hub:
    """The SuperLink's pod, through the API server."""

    def __init__(self, settings: dict[str, Any], api: Path, program: str) -> None:
        self.settings = settings
        self.api = api
        self.program = program
        self.host, self.port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        self.path = f"/api/v1/namespaces/{settings['namespace']}/pods/{settings['pod']}"
        # No proxy of the environment: the API server is inside the cluster.
        self.trust = ssl.create_default_context(cafile=str(api / "ca.crt"))

    def uid(self) -> str:
        """Which pod it is: another one knows nothing of requests to the former."""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=30, context=self.trust)
        try:
            connection.request("GET", self.path, headers={"Authorization": self._bearer()})
            answer = connection.getresponse()
            body = answer.read(MOST)
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"pod {self.settings['pod']}: the API server answers {answer.status}")
        return str(json.loads(body)["metadata"]["uid"])

    def ask(self, steps: Sequence[dict[str, Any]], seconds: float = 150, **more: Any) -> list[dict[str, Any]]:
        """Have C(pod_program) do steps; its answers.

        Raises:
            OSError, ValueError: it could not be asked.
        """
        request = {"steps": list(steps), "files": {}, **more}
        stdin = "\n".join((json.dumps(self.program), json.dumps(request), "")).encode()
        code, output, errors = self._execute(stdin, seconds)
        lines = [line.rstrip("\r") for line in output.splitlines() if line.strip()]
        if code or lines[-1:] != [COMPLETE] or len(lines) != len(steps) + 1:
            raise OSError(f"Flower's command line ended with code {code} after {len(lines)} answers: {errors[-500:]}")
        return [json.loads(line) for line in lines[:-1]]

    def _bearer(self) -> str:
        return f"Bearer {(self.api / 'token').read_text()}"  # the kubelet renews it

    def _execute(self, stdin: bytes, seconds: float) -> tuple[int, str, str]:
        given = [("command", part) for part in self.settings["command"]] + [("container", self.settings["container"])]
        query = urllib.parse.urlencode([*given, *((name, "true") for name in ("stdin", "stdout", "stderr"))])
        with socket.create_connection((self.host, self.port), 30) as plain, self.trust.wrap_socket(plain, server_hostname=self.host) as sock:
            head = {
                "Host": f"[{self.host}]" if ":" in self.host else self.host,
                "Authorization": self._bearer(),
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
                "Sec-WebSocket-Protocol": PROTOCOL,
            }
            lines = [f"GET {self.path}/exec?{query} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
            sock.sendall("\r\n".join(lines).encode())
            stream = sock.makefile("rb")
            status = stream.readline(1000).decode("latin-1").split(" ", 2)
            http.client.parse_headers(stream)
            if status[1:2] != ["101"]:
                raise OSError(f"exec into pod {self.settings['pod']}: the API server answers {' '.join(status[1:]).strip()}")
            for start in range(0, len(stdin), CHUNK):
                sock.sendall(frame(bytes([STDIN]) + stdin[start : start + CHUNK]))
            sock.settimeout(seconds)
            received = {number: bytearray() for number in (STDOUT, STDERR, ERROR)}
            for data in frames(stream, sock):
                if data and data[0] in received:
                    received[data[0]] += data[1:]
                if sum(map(len, received.values())) > MOST:
                    raise OSError("it printed too much")
                if received[ERROR]:
                    break
        output, errors = (received[number].decode("utf-8", "replace") for number in (STDOUT, STDERR))
        return exit_code(bytes(received[ERROR])), output, errors


def frame(data: bytes, opcode: int = 2) -> bytes:
    """A frame of a web socket, masked as those of clients are."""
    mask, size = os.urandom(4), len(data)
    long = b"" if size < 126 else size.to_bytes(2 if size < 65536 else 8, "big")
    masked = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
    return bytes([128 | opcode, 128 | (size if not long else 126 if len(long) == 2 else 127)]) + long + mask + masked.to_bytes(size, "big")


def frames(stream: BinaryIO, sock: Any) -> Iterator[bytes]:
    """The messages of a web socket until it is closed."""
    whole = b""
    while len(head := stream.read(2)) == 2:
        opcode, size = head[0] & 15, head[1] & 127
        if size > 125:
            size = int.from_bytes(stream.read(2 if size == 126 else 8), "big")
        if size + len(whole) > MOST:
            raise OSError("a message is too large")
        data = stream.read(size)
        if opcode == 8:
            return
        if opcode == 9:
            sock.sendall(frame(data, 10))
        elif opcode < 3:
            whole += data
            if head[0] & 128:
                yield whole
                whole = b""


def exit_code(status: bytes) -> int:
    """The exit code in the last message of a command."""
    if not status:
        raise OSError("the connection was closed before the command ended")
    found = json.loads(status)
    if found.get("status") == "Success":
        return 0
    causes = (found.get("details") or {}).get("causes") or []
    codes = [int(one["message"]) for one in causes if one.get("reason") == "ExitCode"]
    if not codes:
        raise OSError(str(found.get("message"))[:500])
    return codes[0]


def listed(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The entries of an answer of C(flwr … --format json), which exits with 0 when it failed.

    Raises:
        OSError: it failed.
    """
    out = answer["out"]
    if not isinstance(out, dict) or not out.get("success"):
        raise OSError(reason(out))
    return list(out.get(name) or [])


def reason(out: Any) -> str:
    """Why Flower refused something."""
    words = " ".join(str(out.get("error-message") if isinstance(out, dict) else out).split())
    return words[max(words.find("[code: "), 0) :][-500:] or "no reason reported"


def obstacle(settings: dict[str, Any], runs: Sequence[dict[str, Any]], nodes: Sequence[dict[str, Any]]) -> str:
    """Why no run is started now; empty if one is."""
    active = [str(run.get("run-id")) for run in runs if run.get("fab-id") == settings["app"] and not str(run.get("status")).startswith("finished")]
    if active and settings["overlap"] == "skip":
        return f"run {active[0]} of {settings['app']} is active"
    online = sum(node.get("status") == "online" for node in nodes)
    if online < settings["min_supernodes"]:
        return f"{online} of at least {settings['min_supernodes']} SuperNodes are online"
    return ""


def submit(hub: Hub, settings: dict[str, Any], archive: str) -> dict[str, Any]:
    """Submit the app once: C(run), its number, or C(status) and C(why)."""
    files = {"run-config.toml": settings["run_config"]} if settings["run_config"] else {}
    options = ["--run-config", "@FOLDER@/run-config.toml"] if files else []
    step = {"command": ["run", "@FOLDER@/app", settings["connection"], *options, "--format", "json"], "once": uuid.uuid4().hex}
    pod, lost = hub.uid(), ""
    for pause in ATTEMPTS:
        time.sleep(pause)
        try:
            if hub.uid() != pod:
                break  # the record of the first attempt is lost with its pod
            (answer,) = hub.ask([step], files=files, archive=archive)
        except FAULTS as error:
            lost = str(error)
            continue
        out = answer["out"]
        if isinstance(out, dict) and out.get("success") and out.get("run-id"):
            return {"run": str(out["run-id"])}
        if lost:
            break
        return {"status": "refused", "why": reason(out)}
    return {"status": "unknown", "why": f"the connection was lost while the app was submitted, and there may be a run: {lost or 'another pod'}"}


def follow(hub: Hub, settings: dict[str, Any], run: str) -> dict[str, Any]:
    """Wait for the end of a run; C(status) and C(why)."""
    deadline = time.monotonic() + settings["timeout"]
    answered, trouble = time.monotonic(), ""
    while True:
        left = deadline - time.monotonic()
        step = {"wait_finished": run, "connection": settings["connection"], "seconds": max(min(left, SLICE), 0), "pause": 5}
        try:
            (answer,) = hub.ask([step], seconds=SLICE + 60)
            for one in (one for one in listed(answer, "runs") if str(one.get("run-id")) == run):
                answered = time.monotonic()
                if str(one.get("status")).startswith("finished:"):
                    details = str(one.get("status-details") or "")
                    return {"status": str(one["status"]).partition(":")[2], "why": "" if details == "N/A" else details[:500]}
        except FAULTS as error:
            trouble = str(error)
        if left <= 0:
            return {"status": "running", "why": f"it is not over after {settings['timeout']} s, and goes on"}
        if time.monotonic() - answered > PATIENCE:
            return {"status": "unknown", "why": f"there was no answer about it for {PATIENCE:.0f} s, and it may go on: {trouble}"}
        time.sleep(min(PAUSE if trouble else 0, left))
        trouble = ""


def begin(hub: Hub, settings: dict[str, Any]) -> tuple[Any, Any]:
    """Runs and SuperNodes, as soon as the SuperLink answers.

    Raises:
        OSError, ValueError: it does not for too long.
    """
    until = time.monotonic() + PATIENCE
    end = [settings["connection"], "--format", "json"]
    # Without a number it lists 20 runs, and one that is active may be older.
    steps = [{"command": ["list", "--limit", "1000000000", *end]}, {"command": ["supernode", "list", *end]}]
    while True:
        try:
            runs, nodes = hub.ask(steps)
            return listed(runs, "runs"), listed(nodes, "nodes")
        except FAULTS:
            if time.monotonic() > until:
                raise
        time.sleep(PAUSE)


def main(program: Path, api: Path, message: Path) -> int:
    """Start and follow a run; the exit code."""
    settings = json.loads((program / "schedule.json").read_text(encoding="utf-8"))
    archive = base64.b64encode((program / "app.tar.gz").read_bytes()).decode()

    def record(**facts: str) -> None:
        message.write_text(json.dumps(facts), encoding="utf-8")

    def stopped(_number: int, _frame: Any) -> NoReturn:
        sys.exit(1)  # what was recorded last is what is known

    signal.signal(signal.SIGTERM, stopped)  # the first process of a container ignores it otherwise
    try:
        hub = Hub(settings, api, (program / "pod_program.py").read_text(encoding="utf-8"))
        record(status="waiting", why="the pod ended before the app was submitted")
        if why := obstacle(settings, *begin(hub, settings)):
            found = {"status": "skipped", "why": why}
        else:
            record(status="unknown", why="the pod ended while the app was submitted, and there may be a run")
            found = submit(hub, settings, archive)
        if "run" in found:
            record(status="running", run=found["run"], why="the pod ended before the run")
            print(f"submitted run {found['run']} of {settings['app']}", flush=True)
            found |= follow(hub, settings, found["run"])
    except FAULTS as error:
        found = {"status": "failed", "why": f"{type(error).__name__}: {error}"[:500]}
    record(**found)
    print(f"{found['status']}: {found['why']}" if found["why"] else found["status"])
    return 0 if found["status"] in ("completed", "skipped") else 1


if __name__ == "__main__":
    sys.exit(main(Path("/program"), Path("/api"), Path("/dev/termination-log")))
