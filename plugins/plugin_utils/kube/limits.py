# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections on which no answer is longer than a limit, or takes longer than its time, however slowly it arrives.

The time-outs of urllib3 and websocket-client are for each read from a socket, and they read without end.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from ..base.foreign_data import MOST, LimitExceeded

_PIECE = 1 << 20  # bytes


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


def limit(manager: Any) -> None:
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
