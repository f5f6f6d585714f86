# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the exporter's pod: Prometheus' text format, and the server that has it on C(/metrics)."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SERIES = 10_000  # of one metric
CLIENTS = 16  # connections at a time
CLIENT_SECONDS = 15.0  # how long one may last
_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def text_format(metrics: Mapping[str, tuple[str, Iterable[str], str]], samples: Iterable[Any]) -> str:
    """Samples in the text format, version 0.0.4. More than C(SERIES) of one metric are left out, and logged.

    Args:
        metrics: name -> kind, labels and help, in the order of the answer.
        samples: values with C(name), C(labels) and C(value).
    """
    found: dict[str, list[Any]] = {}
    for sample in samples:
        found.setdefault(sample.name, []).append(sample)
    lines = []
    for name, (kind, labels, words) in metrics.items():
        own = found.get(name, [])
        if len(own) > SERIES:
            print(f"{name}: {len(own) - SERIES} of {len(own)} series are left out", file=sys.stderr, flush=True)
        if own:
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        for sample in own[:SERIES]:
            pairs = ",".join(f'{label}="{sample.labels[label].translate(_ESCAPED)}"' for label in labels)
            lines.append(name + ("{" + pairs + "}" if pairs else "") + f" {float(sample.value)!r}")
    return "\n".join([*lines, ""])


class Server(ThreadingHTTPServer):
    """Answers so many clients at a time that none of them can keep the others from it: others are refused, and slow ones cut off.

    Args:
        port: on which it listens, 0 for any.
        read: what to answer.
    """

    def __init__(self, port: int, read: Callable[[], str]) -> None:
        self.read = read
        self.ends: dict[Any, float] = {}  # connection -> when it is cut off
        super().__init__(("", port), Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for a client."""
        return len(self.ends) < CLIENTS

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a client in a thread."""
        self.ends[request] = time.monotonic() + CLIENT_SECONDS
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self.ends.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called twice a second: cut off what lasts too long."""
        for request, end in list(self.ends.items()):
            if time.monotonic() > end:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version, sys_version = "flower-metrics", ""
    timeout = 3.0  # seconds for each piece of a request or an answer

    def handle(self) -> None:
        """Answer, unless the client goes away, as probes do."""
        with suppress(OSError):
            super().handle()

    def do_GET(self) -> None:
        """All metrics."""
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        body = self.server.read().encode(errors="replace")
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Requests are not logged: their text is the client's."""
