# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in the pod of a CronJob on the hub: start one run of an app with Flower's command line, and follow it to its end.

Flower's Control API listens in the SuperLink's pod alone. So C(pod_program), which lies beside this file, is executed there by the stream
protocol of pods/exec, with the rights of a data scientist. The pod has Python's standard library only.

A run is submitted once: where it is not known whether that arrived, this fails. What became of it is the termination message of the container,
and the exit code: 0 for a run that completed, or was skipped as its settings say.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

STDIN, STDOUT, STDERR, ERROR = range(4)  # channels of C(v4.channel.k8s.io): the first byte of each message
CHUNK = 32 * 1024
MOST = 16 * 1024 * 1024  # bytes of a message, and of all output
PATIENCE = 600.0  # seconds without an answer, as while the SuperLink restarts
PAUSE = 10.0  # seconds between two attempts
SLICE = 100.0  # seconds of one wait for the end of a run
COMPLETE = "."  # what C(in_pod.LOADER) prints at the end
FAULTS = (OSError, ValueError, LookupError, TypeError, AttributeError, http.client.HTTPException)  # of connections, and of answers that are none


class Hub:
    """The SuperLink's pod, through the API server."""

    def __init__(self, settings: dict[str, Any], api: Path, program: str) -> None:
        self.settings, self.api, self.program = settings, api, program
        self.host, self.port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        # No proxy of the environment: the API server is inside the cluster.
        self.trust = ssl.create_default_context(cafile=str(api / "ca.crt"))

    def ask(self, *steps: dict[str, Any], seconds: float = 150, **more: Any) -> list[dict[str, Any]]:
        """Have C(pod_program) do steps; its answers. Raises one of C(FAULTS) where it could not be asked."""
        request = {"steps": steps, "files": {}, **more}
        code, output, errors = self._execute("\n".join((json.dumps(self.program), json.dumps(request), "")).encode(), seconds)
        lines = [line for line in output.splitlines() if line.strip()]
        if code or lines[-1:] != [COMPLETE] or len(lines) != len(steps) + 1:
            raise OSError(f"Flower's command line ended with code {code} after {len(lines)} answers: {errors[-500:]}")
        return [json.loads(line) for line in lines[:-1]]

    def flwr(self, *arguments: str, options: Sequence[str] = ()) -> dict[str, Any]:
        """A step that runs C(flwr)."""
        return {"command": [*arguments, self.settings["connection"], *options, "--format", "json"]}

    def state(self, run: str, seconds: float) -> dict[str, Any]:
        """What Flower knows of a run that is over, or after so many seconds."""
        step = {"wait_finished": run, "connection": self.settings["connection"], "seconds": seconds, "pause": 5}
        found: dict[str, Any] = patiently(lambda: listed(self.ask(step, seconds=seconds + 60)[0], "runs")[0])
        return found

    def _execute(self, stdin: bytes, seconds: float) -> tuple[int, str, str]:
        given = [("command", part) for part in self.settings["command"]] + [("container", self.settings["container"])]
        query = urllib.parse.urlencode([*given, ("stdin", "true"), ("stdout", "true"), ("stderr", "true")])
        lines = [
            f"GET /api/v1/namespaces/{self.settings['namespace']}/pods/{self.settings['pod']}/exec?{query} HTTP/1.1",
            f"Host: {f'[{self.host}]' if ':' in self.host else self.host}",
            f"Authorization: Bearer {(self.api / 'token').read_text()}",  # the kubelet renews it
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Protocol: v4.channel.k8s.io",
        ]
        with socket.create_connection((self.host, self.port), 30) as plain, self.trust.wrap_socket(plain, server_hostname=self.host) as sock:
            sock.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
            stream = sock.makefile("rb")
            status = stream.readline(1000).decode("latin-1").partition(" ")[2].strip()
            http.client.parse_headers(stream)
            if not status.startswith("101"):
                raise OSError(f"exec into pod {self.settings['pod']}: the API server answers {status or 'nothing'}")
            for start in range(0, len(stdin), CHUNK):
                sock.sendall(frame(bytes([STDIN]) + stdin[start : start + CHUNK]))
            sock.settimeout(seconds)
            received = {number: bytearray() for number in (STDOUT, STDERR, ERROR)}
            for data in frames(stream, sock):
                received.get(data[0] if data else STDIN, bytearray()).extend(data[1:])
                if received[ERROR] or sum(map(len, received.values())) > MOST:
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
    """The exit code in the last message of a command. Raises OSError if there is none."""
    found = json.loads(status or b'{"message": "the connection was closed before the command ended"}')
    if found.get("status") == "Success":
        return 0
    for cause in (found.get("details") or {}).get("causes") or []:
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise OSError(str(found.get("message"))[:500])


def listed(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The entries of an answer of C(flwr … --format json), which exits with 0 when it failed. Raises OSError if it did."""
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
    few = online < settings["min_supernodes"]
    return f"{online} of at least {settings['min_supernodes']} SuperNodes are online" if few else ""


def patiently(ask: Callable[[], Any]) -> Any:
    """What a function returns, which is called again for a while where it raises one of C(FAULTS)."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except FAULTS:
            if time.monotonic() > until:
                raise
        time.sleep(PAUSE)


def follow(hub: Hub, run: str) -> dict[str, str]:
    """Wait for the end of a run; C(status) and C(why)."""
    seconds = hub.settings["timeout"]
    deadline = time.monotonic() + seconds
    while True:
        part = max(min(deadline - time.monotonic(), SLICE), 0)
        found = hub.state(run, part)
        status, details = str(found.get("status")), str(found.get("status-details") or "")
        if status.startswith("finished:"):
            return {"status": status.partition(":")[2], "why": "" if details == "N/A" else details[:500]}
        if not part:
            return {"status": "running", "why": f"it is not over after {seconds} s, and goes on"}


def main(program: Path, api: Path, message: Path) -> int:
    """Start and follow a run; the exit code."""
    settings = json.loads((program / "schedule.json").read_text(encoding="utf-8"))
    archive = base64.b64encode((program / "app.tar.gz").read_bytes()).decode()
    found: dict[str, str] = {}

    def record(status: str, why: str) -> None:
        found.update(status=status, why=why[:1000])
        message.write_text(json.dumps(found), encoding="utf-8")

    # The first process of a container ignores it otherwise. What was recorded last is what is known then.
    signal.signal(signal.SIGTERM, lambda *_given: sys.exit(1))
    try:
        record("failed", "no app was submitted")
        hub = Hub(settings, api, (program / "pod_program.py").read_text(encoding="utf-8"))
        # Without a number it lists 20 runs, and one that is active may be older.
        steps = hub.flwr("list", "--limit", "1000000000"), hub.flwr("supernode", "list")
        runs, nodes = patiently(lambda: [listed(answer, name) for answer, name in zip(hub.ask(*steps), ("runs", "nodes"))])
        if why := obstacle(settings, runs, nodes):
            record("skipped", why)
        else:
            record("unknown", "the connection was lost while the app was submitted: there may be a run")
            files = {"run-config.toml": settings["run_config"]} if settings["run_config"] else {}
            options = ["--run-config", "@FOLDER@/run-config.toml"] if files else []
            (answer,) = hub.ask(hub.flwr("run", "@FOLDER@/app", options=options), files=files, archive=archive)
            out = answer["out"]
            if isinstance(out, dict) and out.get("success") and out.get("run-id"):
                found["run"] = str(out["run-id"])
                record("unknown", "it was not followed to its end, and may go on")
                print(f"submitted run {found['run']} of {settings['app']}", flush=True)
                record(**follow(hub, found["run"]))
            else:
                record("refused", reason(out))
    except FAULTS as error:
        record(found["status"], f"{found['why']} ({type(error).__name__}: {error})")
    print(f"{found['status']}: {found['why']}" if found["why"] else found["status"])
    return 0 if found["status"] in ("completed", "skipped") else 1


if __name__ == "__main__":
    sys.exit(main(Path("/program"), Path("/api"), Path("/dev/termination-log")))
