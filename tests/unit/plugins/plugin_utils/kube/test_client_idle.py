# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection is kept alive, but not used again after a long pause."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube import client
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import Access


@pytest.fixture
def server() -> Iterator[tuple[str, list[object]]]:
    """URL of a server that keeps connections alive, and the addresses from which it was connected to."""
    connected: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            connected.append(self.client_address)

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{served.server_address[1]}", connected
    served.shutdown()
    thread.join()
    served.server_close()


def test_an_idle_connection_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch, server: tuple[str, list[object]]
) -> None:
    url, connected = server
    cluster = client.Cluster(Access("test", url))
    for path in ("/version", "/livez", "/version"):
        cluster.request("GET", path)
    assert len(connected) == 1
    monkeypatch.setattr(client, "_IDLE", -1.0)
    cluster.request("GET", "/version")
    assert len(connected) == 2
    cluster.close()
