# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in containers by the stream protocol of pods/exec, and connections whose answers have a limit in size and time.

The time-outs of urllib3 and websocket-client are for each read from a socket, and they read without end.
"""

from __future__ import annotations

import contextlib
import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..base import foreign_data
from ..base.foreign_data import MOST, LimitExceeded
from .api_errors import ExecBroken, Unreachable, status_of

_PIECE = 1 << 20  # bytes

PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"]


class _Socket:
    """A socket whose time-out is for all that is read until the next one is set, and for C(MOST) bytes."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self.settimeout(sock.gettimeout())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def settimeout(self, seconds: float | None) -> None:
        self._sock.settimeout(seconds)
        self._until, self._left = time.monotonic() + (seconds or 0), MOST

    def recv(self, size: int) -> bytes:
        # Older releases of websocket-client ask for as much as the other end announces.
        return self._read(self._sock.recv, min(size, _PIECE))

    def recv_into(self, buffer: Any) -> int:
        return self._read(self._sock.recv_into, buffer)

    def _read(self, read: Callable[[Any], Any], how: Any) -> Any:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        found = read(how)
        self._left -= found if isinstance(found, int) else len(found)
        if self._left < 0:
            raise LimitExceeded(f"it is larger than {MOST >> 20} MiB")
        return found


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        raw: Any = self.fp.raw  # a socket.SocketIO, which keeps the socket open even if the connection is closed meanwhile
        raw._sock = _Socket(sock)


def limit_answers(manager: Any) -> None:
    """Have a pool manager of urllib3 read answers, and those of proxies, within limits."""
    manager.pool_classes_by_scheme = {scheme: _limited(pool) for scheme, pool in manager.pool_classes_by_scheme.items()}


@cache
def _limited(pool: Any) -> Any:
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": _Response})
    return type("Pool", (pool,), {"ConnectionCls": connection})


@cache
def limited_channel(channel: Any) -> Any:
    """A class of web sockets that read the answer to the handshake, and each message, within limits."""

    def connected(self: Any, sock: Any) -> None:
        self.limited = sock and _Socket(sock)

    return type("Channel", (channel,), {"sock": property(lambda self: self.limited, connected)})


with contextlib.suppress(ImportError):  # reported by resolve()
    import websocket


@dataclass(frozen=True)
class ExecResult:
    """Outcome of a command in a container."""

    stdout: bytes
    stderr: bytes
    rc: int


@dataclass
class Exec:
    """The stream protocol of pods/exec: the first byte of each frame is its channel.

    Attributes:
        channel: the web socket.
        name: of the cluster, for messages.
        what: the command, for messages.
        deadline: when the command has to have ended, which is C(timeout) seconds after it began.
        silence: seconds without output after which the connection is considered lost.
    """

    channel: Any
    name: str
    what: str
    deadline: float
    timeout: float
    silence: float | None = None

    STDIN, STDOUT, STDERR, ERROR = range(4)
    CLOSE = 255
    CHUNK = 32 * 1024

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
        last_data = time.monotonic()
        while True:
            limit = self.deadline if self.silence is None else min(self.deadline, last_data + self.silence)
            left = limit - time.monotonic()
            if left <= 0:
                raise self._too_long(limit)
            self.channel.settimeout(left)
            try:
                # A ping says that a proxy or the API server is alive, not the command: it counts for neither limit.
                opcode, data = self.channel.recv_data(control_frame=True)
            except websocket.WebSocketTimeoutException:
                raise self._too_long(limit) from None
            except websocket.WebSocketConnectionClosedException:
                return
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return
            if opcode in (websocket.ABNF.OPCODE_PING, websocket.ABNF.OPCODE_PONG):
                continue
            last_data = time.monotonic()
            if data:
                yield data[0], data[1:]

    def _too_long(self, limit: float) -> Unreachable:
        why = f"not finished after {self.timeout:g} s; the command may still be running"
        if limit < self.deadline:
            why = f"nothing was received for {self.silence:g} s, so the connection seems to be lost"
        return Unreachable(f"{self.name}: {self.what}: {why}.")

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
