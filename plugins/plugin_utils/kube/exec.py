# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in containers: the stream protocol of pods/exec."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..base import foreign_data
from .api_errors import ExecBroken, Unreachable, status_of

with contextlib.suppress(ImportError):  # reported by resolve()
    import websocket

PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"]


@dataclass(frozen=True)
class ExecResult:
    """Outcome of a command in a container."""

    stdout: bytes
    stderr: bytes
    rc: int


class Exec:
    """The stream protocol of pods/exec: the first byte of each frame is its channel."""

    STDIN, STDOUT, STDERR, ERROR = range(4)
    CLOSE = 255
    CHUNK = 32 * 1024

    def __init__(
        self, channel: Any, name: str, what: str, deadline: float, timeout: float, silence: float | None = None
    ) -> None:
        self.channel = channel
        self.name = name
        self.what = what
        self.deadline = deadline
        self.timeout = timeout
        self.silence = silence

    def run(self, stdin: bytes | None, on_stdout: Callable[[bytes], None] | None) -> ExecResult:
        if stdin is not None:
            for start in range(0, len(stdin), self.CHUNK):
                self.channel.send_binary(bytes([self.STDIN]) + stdin[start : start + self.CHUNK])
            if self.channel.getsubprotocol() == PROTOCOLS[0]:
                self.channel.send_binary(bytes([self.CLOSE, self.STDIN]))
        output: dict[int, bytearray] = {self.STDOUT: bytearray(), self.STDERR: bytearray(), self.ERROR: bytearray()}
        for number, data in self._frames():
            if number == self.STDOUT and on_stdout is not None:
                on_stdout(bytes(data))
            elif number in output:
                output[number] += data
                if len(output[number]) > foreign_data.MOST:
                    raise foreign_data.LimitExceeded(f"it printed more than {foreign_data.MOST >> 20} MiB")
            if number == self.ERROR and data:
                break
        return ExecResult(
            bytes(output[self.STDOUT]), bytes(output[self.STDERR]), self._exit_code(bytes(output[self.ERROR]))
        )

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        heard = time.monotonic()
        while True:
            now = time.monotonic()
            left = self.deadline - now
            if left <= 0:
                raise self._too_late()
            patience = left if self.silence is None else heard + self.silence - now
            if patience <= 0:
                raise self._too_quiet()
            quiet = patience < left
            self.channel.settimeout(min(patience, left))
            try:
                # A ping says that a proxy or the API server is alive, not the command: it counts for neither limit.
                opcode, data = self.channel.recv_data(control_frame=True)
            except websocket.WebSocketTimeoutException:
                raise (self._too_quiet() if quiet else self._too_late()) from None
            except websocket.WebSocketConnectionClosedException:
                return
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return
            if opcode in (websocket.ABNF.OPCODE_PING, websocket.ABNF.OPCODE_PONG):
                continue
            heard = time.monotonic()
            if data:
                yield data[0], data[1:]

    def _too_late(self) -> Unreachable:
        return Unreachable(
            f"{self.name}: {self.what}: not finished after {self.timeout:g} s; the command may still be running."
        )

    def _too_quiet(self) -> Unreachable:
        return Unreachable(
            f"{self.name}: {self.what}: nothing was received for {self.silence:g} s, so the connection seems to be lost."
        )

    def _exit_code(self, data: bytes) -> int:
        if not data:
            raise Unreachable(f"{self.name}: {self.what}: the connection was closed before the command ended.")
        status = status_of(data)
        if status.get("status") == "Success":
            return 0
        with contextlib.suppress(*foreign_data.FAULTS):  # it may have any form
            for cause in status["details"]["causes"]:
                if cause.get("reason") == "ExitCode":
                    return int(cause["message"])
        raise ExecBroken(self.name, self.what, status.get("code") or 500, status)
