# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A hostile API server: its answers are endless, deep, huge, slow, compressed, or full of values.

C(HostileApi) is a proxy in front of a real API server, which answers what no rule is about. One process serves several hostile sites, each
below a path of its own.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import os
import re
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ansible_collections.federated.flower.plugins.plugin_utils.apply.applyset import PART_OF
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import FIELD_MANAGER
from ansible_collections.federated.flower.tests.integration.recorder import Recorder, _Handler

MIB = 1024 * 1024
#: Writes the answer to a request, of which it gets the head, to the client's connection. It may have no end: the client closes the connection.
Answer = Callable[[socket.socket, str], None]


def head(*headers: str, status: str = "200 OK") -> bytes:
    """The first lines of an answer."""
    return "\r\n".join((f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, "", "")).encode()


def whole(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    """An answer of the right form."""
    return lambda connection, _request: connection.sendall(head(f"Content-Length: {len(body)}", *headers, status=status) + body)


def document(content: Any, status: str = "200 OK") -> Answer:
    """JSON."""
    return whole(json.dumps(content).encode(), status=status)


def dripping(before: bytes, drop: bytes = b" ", seconds: float = 0.05) -> Answer:
    """A drop every so many seconds, without end."""

    def answer(connection: socket.socket, _request: str) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(drop)
            time.sleep(seconds)

    return answer


def flooding(before: bytes, piece: bytes) -> Answer:
    """The same piece again and again, as fast as it is read."""

    def answer(connection: socket.socket, _request: str) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(piece)

    return answer


def bomb(mebibytes: int = 200) -> bytes:
    """Blanks, compressed: gzip allows several members one after the other (RFC 1952, 2.2)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (packer.compress(b" " * MIB) + packer.flush()) * mebibytes


def pages(*, objects: int, size: int = 0, pause: float = 0) -> Answer:
    """A list whose pages have no end, each with so many objects."""
    count = itertools.count()

    def answer(connection: socket.socket, request: str) -> None:
        time.sleep(pause)
        items = [{"metadata": {"name": f"n{number}", "labels": {"x": "y" * size}}} for number in range(objects)]
        document({"metadata": {"continue": str(next(count))}, "items": items})(connection, request)

    return answer


def frame(number: int, data: bytes, *, first: int = 0x82) -> bytes:
    """A frame of a web socket for a channel of pods/exec."""
    size = len(data) + 1
    length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size) if size < 65536 else b"\x7f" + struct.pack("!Q", size)
    return bytes([first]) + length + bytes([number]) + data


def upgraded(*frames: bytes, then: bytes = b"", pause: float = 0) -> Answer:
    """Accepts an exec, and sends frames; then something without end."""

    def answer(connection: socket.socket, request: str) -> None:
        key = next(line.split(": ")[1] for line in request.splitlines() if line.lower().startswith("sec-websocket-key"))
        accepted = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        lines = ("Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accepted}", "Sec-WebSocket-Protocol: v5.channel.k8s.io")
        connection.sendall("\r\n".join(("HTTP/1.1 101 Switching Protocols", *lines, "", "")).encode())
        for one in frames:
            connection.sendall(one)
        while then:
            connection.sendall(then)
            time.sleep(pause)
        connection.recv(65536)

    return answer


#: To any request.
ANSWERS: dict[str, Answer] = {
    "deep lists": whole(b"[" * 1_000_000),
    "deep objects": whole(b'{"a":' * 500 + b"1" + b"}" * 500),
    "deep lists in an error": whole(b"[" * 100_000, status="500 Internal Server Error"),
    "deep objects in a refusal": whole(b'{"a":' * 100_000, status="403 Forbidden"),
    "2^31 bytes": flooding(head(f"Content-Length: {2**31}"), b" " * MIB),
    "2^32 + 10 bytes": flooding(head(f"Content-Length: {2**32 + 10}"), b" " * MIB),
    "huge": flooding(head("Content-Length: 1000000000000"), b" " * MIB),
    "huge error": flooding(head("Content-Length: 1000000000000", status="409 Conflict"), b"x" * MIB),
    "endless list": flooding(head("Transfer-Encoding: chunked") + b'a\r\n{"items":[\r\n', b"30000\r\n" + b"{}," * 0x10000 + b"\r\n"),
    "endless pieces": flooding(head("Transfer-Encoding: chunked"), b"100000\r\n" + b" " * MIB + b"\r\n"),
    "endless until it closes": flooding(head("Connection: close"), b" " * MIB),
    "endless line of a header": flooding(b"HTTP/1.1 200 OK\r\nX: ", b"x" * MIB),
    "endless lines before the answer": flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "endless trailers": flooding(head("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n", b"X: y\r\n"),
    "many small values": whole(b"[" + b"[]," * (15 * MIB // 3) + b"1]"),
    "many small objects": whole(b"[" + b'{"a":0},' * (15 * MIB // 8) + b"1]"),
    "as many small objects as are read": whole(b"[" + b'{"a":0},' * 520_000 + b"1]"),
    "wide characters": whole(b'{"a":"' + "\U0001f337".encode() + b"a" * (15 * MIB) + b'"'),
    "compressed": whole(bomb(), "Content-Encoding: gzip"),
    "compressed error": whole(bomb(), "Content-Encoding: gzip", status="500 Internal Server Error"),
    "compressed otherwise": whole(zlib.compress(b"{}" * MIB), "Content-Encoding: deflate"),
    "slow body": dripping(head("Content-Length: 1000000000")),
    "slow pieces": dripping(head("Transfer-Encoding: chunked"), b"1\r\n \r\n"),
    "slow header": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "slow headers": dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "slow status": dripping(b"", b"H"),
}

#: To an exec in a pod.
EXECS: dict[str, Answer] = {
    "endless output": upgraded(then=frame(1, b"x" * 32_000)),
    "endless lines": upgraded(then=frame(1, b"{}\n" * 10_000)),
    "endless errors": upgraded(then=frame(2, b"x" * 32_000)),
    "an endless message": upgraded(frame(1, b"", first=0x02), then=frame(1, b"x" * 32_000, first=0x00)),
    "a message of 2^62 bytes": upgraded(b"\x82\x7f" + struct.pack("!Q", 2**62), then=b"x" * MIB),
    "a slow message": upgraded(b"\x82\x7e\xff\xff\x01", then=b"x", pause=0.05),
    "pings only": upgraded(then=b"\x89\x01x", pause=0.01),
    "deep status": upgraded(frame(3, b"[" * 100_000)),
    "a status of another form": upgraded(frame(3, b'{"status": "Failure", "details": {"causes": [1, null, {"reason": "ExitCode", "message": "x"}]}}')),
    "endless answer to the handshake": flooding(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000000\r\n\r\n", b"x" * MIB),
    "slow answer to the handshake": dripping(b"HTTP/1.1 101 Switching Protocols\r\nX: ", b"x"),
    "endless headers": flooding(b"HTTP/1.1 101 Switching Protocols\r\n", b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 100),
}


def leftovers(count: int) -> list[tuple[str, Answer]]:
    """Rules: the cluster has so many more members of an ApplySet, with names that are as long as they may be, and deletes them.

    A character that is not ASCII is twelve bytes in an entry of the audit trail.
    """
    names = [f"{number:06}".rjust(253, "\U0001f337") for number in range(count)]
    managers = [{"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {}}]
    items = [{"metadata": {"name": name, "namespace": "flower", "uid": name[-6:], "managedFields": managers}} for name in names]
    return [
        (f"^GET [^?]*/configmaps[?].*{quote(PART_OF, safe='')}", document({"items": items})),
        ("^DELETE [^?]*/configmaps/%F0", document({"kind": "Status", "status": "Success"})),
        ("^GET [^?]*/configmaps/%F0", document({"kind": "Status", "reason": "NotFound", "code": 404, "details": {"name": "x"}}, "404 Not Found")),
    ]


def talkative_pods() -> tuple[dict[str, Any], dict[str, Any]]:
    """A StatefulSet that is not ready, and its pod with a message of 12 MiB that begins with an escape sequence of terminals."""
    name, labels = "supernode-cpu", {"federated.flower/pool": "cpu"}
    waiting = {"reason": "ErrImagePull", "message": "\x1b]0;owned\x07 " + "x" * (12 * MIB)}
    template = {"spec": {"containers": [{"name": "supernode", "image": "docker.io/flwr/supernode"}]}}
    workload = {"metadata": {"name": name, "namespace": "flower", "labels": labels}, "spec": {"replicas": 1, "template": template}, "status": {"replicas": 1}}
    status = {"phase": "Pending", "containerStatuses": [{"name": "supernode", "state": {"waiting": waiting}}]}
    return workload, {"metadata": {"name": f"{name}-0", "labels": labels}, "status": status}


def in_memory(pem: str) -> str:
    """The path of a file with a private key that is in memory only, for the library that wants a path."""
    file = os.memfd_create("identity")
    os.write(file, pem.encode())
    return f"/proc/self/fd/{file}"


class HostileApi(Recorder):
    """The proxy. It asks the API server with a client certificate of its own, whoever the client is.

    Attributes:
        rules: site -> patterns of C(METHOD /path?query), each with its answer; the first that is found counts. They may be changed at any time.
        refused: site -> requests that had a hostile answer.

    Args:
        server: URL of the API server.
        ca: its CA, PEM.
        identity: client certificate and key of its administrator, PEM.
        certificate: file with certificate and key to listen with, for C(localhost).
    """

    def __init__(self, server: str, ca: str, identity: str, certificate: Path) -> None:
        super().__init__(server, ca)
        self.rules: dict[str, list[tuple[str, Answer]]] = {}
        self.refused: dict[str, list[str]] = {}
        self.tls.load_cert_chain(in_memory(identity))
        listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        listening.load_cert_chain(certificate)
        self._server.RequestHandlerClass = type("Handler", (_HostileHandler,), {"recorder": self})
        # A client that does not shake hands has a thread of its own to wait in.
        self._server.socket = listening.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = self.url.replace("http://127.0.0.1", "https://localhost")

    def answer(self, site: str, request: str) -> Answer | None:
        """The hostile answer to a request; None where the API server answers."""
        for pattern, answer in self.rules.get(site, []):
            if re.search(pattern, request):
                self.refused.setdefault(site, []).append(request)
                return answer
        return None


class _HostileHandler(_Handler):
    recorder: HostileApi

    def _pass_on(self) -> None:
        _nothing, site, path = self.path.split("/", 2)
        self.path = f"/{path}"
        answer = self.recorder.answer(site, f"{self.command} {self.path}")
        if answer is None:
            del self.headers["Authorization"]
            super()._pass_on()
            return
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.close_connection = "Upgrade" in self.headers
        try:
            answer(self.connection, f"{self.requestline}\r\n{self.headers}")
        except OSError:  # the client has closed the connection
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def handle(self) -> None:
        """Serve a connection, which the client may end at any time."""
        with contextlib.suppress(OSError):
            super().handle()

    def finish(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            super().finish()
