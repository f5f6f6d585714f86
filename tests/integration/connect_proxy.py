# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy between the tests and an API server."""

from __future__ import annotations

import base64
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class ConnectProxy:
    """A small HTTP proxy on 127.0.0.1 that makes tunnels for those who know the password, and counts them."""

    def __init__(self, credentials: str) -> None:
        self.tunnels = 0
        #: bytes that clients received
        self.passed = 0
        #: numbers of such bytes at which the tunnel breaks that passes the last of them
        self.break_at: list[int] = []
        #: break the tunnel at the next byte from the client
        self.break_next = False
        expected = "Basic " + base64.b64encode(credentials.encode()).decode()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                if self.headers.get("Proxy-Authorization") != expected:
                    self.send_error(407)
                    return
                host, _colon, port = self.path.rpartition(":")
                with socket.create_connection((host.strip("[]"), int(port))) as upstream:
                    outer.tunnels += 1
                    self.send_response(200)
                    self.end_headers()
                    pair = {self.connection: upstream, upstream: self.connection}
                    while True:
                        for one in select.select(list(pair), [], [])[0]:
                            data = one.recv(65536)
                            if not data:
                                return
                            if one is self.connection and outer.break_next:
                                outer.break_next = False
                                return
                            if one is upstream:
                                outer.passed += len(data)
                            if outer.break_at and outer.passed >= outer.break_at[0]:
                                del outer.break_at[0]
                                return
                            pair[one].sendall(data)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ConnectProxy:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
