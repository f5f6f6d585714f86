# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ansible-rulebook as a process, and webhooks to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "ansible-rulebook"
TOKEN = "a-token-for-tests-only-5b1f"


def free_port() -> int:
    """A port of the loopback that is not used."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait(what: str, condition: Callable[[], Any], seconds: float = 120) -> Any:
    """Wait until a condition is true; returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: not after {seconds:g} s"
        time.sleep(0.1)


class Rulebook:
    """A rulebook of this collection that runs.

    Args:
        name: name of the rulebook.
        folder: for its files.
        options: further options of the program.
        program: path of the program.
        secret: the environment variable that has the secret.
        collections: where collections are.
        environ: further environment variables.
        variables: variables of the rulebook, in addition to the port.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *options: str,
        program: Path = PROGRAM,
        secret: str = "FLOWER_EVENT_TOKEN",
        collections: str | None = None,
        environ: dict[str, str] | None = None,
        **variables: Any,
    ) -> None:
        self.port = free_port()
        self.log = folder / f"{name}.log"
        chosen = folder / f"{name}-vars.yml"
        chosen.write_text(json.dumps({"flower_event_port": self.port, "flower_event_gather": 0.5, **variables}))
        self._environ = {**os.environ, **({"ANSIBLE_COLLECTIONS_PATH": collections} if collections else {}), **(environ or {})}
        self._environ.setdefault(secret, TOKEN)
        self._command = [
            str(program), "-r", f"federated.flower.{name}", "--vars", str(chosen), "--env-vars", secret, "-v",
            *options,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Rulebook:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(self._command, env=self._environ, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait("the webhook", self._listens)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listens(self) -> bool:
        assert self._process and self._process.poll() is None, self.said()
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def said(self) -> str:
        """What it printed until now."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def send(self, message: Any, token: str | None = TOKEN, **headers: str) -> int:
        """Send a message as a webhook does; returns the status."""
        sent = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/events", body, sent)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code


def alert(name: str, status: str = "firing", **labels: str) -> dict[str, Any]:
    """An alert as Alertmanager writes it."""
    return {
        "status": status,
        "labels": {"alertname": name, "severity": "warning", **labels},
        "annotations": {"summary": "a test"},
        "startsAt": "2026-11-23T03:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus/graph",
        "fingerprint": "7a1c7e6e5d0f1b2c",
    }


def notification(*alerts: dict[str, Any]) -> dict[str, Any]:
    """A message of Alertmanager's webhook, version 4."""
    return {
        "version": "4",
        "groupKey": "{}:{alertname='x'}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "flower",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager",
        "alerts": list(alerts),
    }
