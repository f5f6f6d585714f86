# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy in front of an API server that notes what is asked of it, as the API server's authorizer sees it.

It speaks HTTP on 127.0.0.1 and passes everything on over TLS, credentials included, so what a right is needed for is seen
from outside of the code that needs it.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# Headers of one connection, and what the length of the answer makes superfluous.
_HOP = {"connection", "content-length", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Request:
    """One request for a resource, and the code of its answer; empty text where there is no such part."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    status: int


def requests_of(method: str, path: str, status: int) -> list[Request]:
    """What the API server asks its authorizer for a request; nothing for paths that are no resources.

    Source: apiserver, endpoints/request/requestinfo.go, and endpoints/handlers/patch.go for an apply that creates.
    """
    parts = urlsplit(path).path.strip("/").split("/")
    if parts[:2] == ["api", "v1"]:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return []
    if not rest or group == "authorization.k8s.io":
        return []  # discovery; any user may read their own rights
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        rest = rest[2:] or rest
    name = rest[1] if len(rest) > 1 else ""
    resource = "/".join([rest[0], *rest[2:]])
    verb = _VERBS.get(method) or ("get" if name else "list")
    found = [Request(verb, group, resource, namespace, name, status)]
    if verb == "patch" and status == 201:
        found.append(Request("create", group, resource, "" if resource == "namespaces" else namespace, name, status))
    return found


class Recorder:
    """The proxy. C(seen) holds the requests so far, C(url) is its address."""

    def __init__(self, server: str, ca: str) -> None:
        self.seen: list[Request] = []
        address = urlsplit(server)
        self.target = (address.hostname, address.port or 443)
        self.tls = ssl.create_default_context(cadata=ca)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"recorder": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, method: str, path: str, status: int) -> None:
        """Write a request down."""
        with self._lock:
            self.seen += requests_of(method, path, status)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorder: Recorder
    _upstream: http.client.HTTPSConnection | None = None

    def _pass_on(self) -> None:
        if self.headers.get("Upgrade"):
            self._tunnel()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._upstream is None:
            self._upstream = http.client.HTTPSConnection(*self.recorder.target, context=self.recorder.tls, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP | {"host"}}
        self._upstream.request(self.command, self.path, body or None, headers)
        answer = self._upstream.getresponse()
        data = answer.read()
        self.recorder.note(self.command, self.path, answer.status)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP | {"date", "server"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def _tunnel(self) -> None:
        """A connection that changes its protocol: after its first lines, bytes both ways until one side ends."""
        self.close_connection = True
        host, port = self.recorder.target
        with self.recorder.tls.wrap_socket(
            socket.create_connection((host, port), 60), server_hostname=host
        ) as upstream:
            upstream.settimeout(None)
            lines = [
                f"{self.command} {self.path} HTTP/1.1",
                *(f"{name}: {value}" for name, value in self.headers.items()),
            ]
            upstream.sendall("\r\n".join([*lines, "", ""]).encode())
            first = upstream.recv(65536)
            self.recorder.note(self.command, self.path, int(first.split(b" ", 2)[1]))
            self.wfile.write(first)
            back = threading.Thread(target=self._back, args=(upstream,), daemon=True)
            back.start()
            try:
                while data := self.rfile.read1(65536):
                    upstream.sendall(data)
            except OSError:
                pass  # the other side ended first
            back.join(10)

    def _back(self, upstream: ssl.SSLSocket) -> None:
        try:
            while data := upstream.recv(65536):
                self.wfile.write(data)
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the client ended first

    def log_message(self, *args: Any) -> None:
        """Say nothing."""
