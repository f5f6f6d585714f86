# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections on which no answer is longer than a limit, or takes longer than its time, however slowly it arrives.

The time-outs of urllib3 and websocket-client are for each read from a socket, and these would read without end.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import time
from functools import cache
from typing import Any

from ..base.foreign import MOST, TooMuch

with contextlib.suppress(ImportError):  # reported by resolve()
    import websocket


class _Left:
    """What is left of time and bytes for an answer, from now on."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._until, self._bytes = time.monotonic() + (sock.gettimeout() or 0), MOST

    def wait(self) -> None:
        """Called before each read."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)

    def take(self, count: int) -> None:
        """Called after each read."""
        self._bytes -= count
        if self._bytes < 0:
            raise TooMuch(f"it is larger than {MOST >> 20} MiB")


class _Raw(io.RawIOBase):
    """What arrives at a socket, in answer to one request."""

    def __init__(self, sock: Any) -> None:
        self._from, self._left = sock.makefile("rb", buffering=0), _Left(sock)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive some bytes."""
        self._left.wait()
        count: int = self._from.readinto(buffer)
        self._left.take(count)
        return count

    def close(self) -> None:
        """Leave the socket to the next request."""
        self._from.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Raw(sock))


def limit(manager: Any) -> None:
    """Have a pool manager of urllib3 read answers, and those of proxies, within limits. The time of each is that of its first read."""
    manager.pool_classes_by_scheme = {scheme: _limited(pool) for scheme, pool in manager.pool_classes_by_scheme.items()}


@cache
def _limited(pool: Any) -> Any:
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": _Response})
    return type("Pool", (pool,), {"ConnectionCls": connection})


class _Socket:
    """A socket; each time-out that is set is for all that is read until the next one is set."""

    def __init__(self, sock: Any) -> None:
        self._sock, self._left = sock, _Left(sock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def settimeout(self, seconds: float | None) -> None:
        """Begin anew."""
        self._sock.settimeout(seconds)
        self._left = _Left(self._sock)

    def recv(self, size: int) -> bytes:
        """Receive some bytes."""
        self._left.wait()
        data: bytes = self._sock.recv(size)
        self._left.take(len(data))
        return data


def channel(tls: dict[str, Any]) -> Any:
    """A web socket that reads the answer to its handshake, and each message, within limits."""

    class Channel(websocket.WebSocket):
        """C(sock) is set when it is connected, before the handshake."""

        @property
        def sock(self) -> Any:
            """The socket, or None."""
            return self._limited

        @sock.setter
        def sock(self, sock: Any) -> None:
            self._limited = sock and _Socket(sock)

    return Channel(sslopt=tls, skip_utf8_validation=True)
