# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The gateway's rendered configuration in a real HAProxy (tools/haproxy.py), with real certificates and a stand-in for the SuperLink.

A site, or an app, that calls with bodies of any length, slowly, or often, takes nothing from the others.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gateway
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.haproxy import RUNTIME_CALLS
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client
from ansible_collections.federated.flower.tests.unit.read import role_options

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.timedelta(days=1)
FLEET, RUNTIME, METRICS = "/v1/fleet/push-object", "/v1/runtime/push-object", "/v1/control/list-nodes"
TOKEN = "a-shared-secret"
LONG_AGO = 60.0  # seconds after which a test gives up


def spec(**changes: Any) -> HubSpec:
    given = {name.removeprefix("superlink_"): option.get("default") for name, option in role_options("superlink").items()}
    given |= {"cluster": "hub", "superlink_address": "hub.example.com:9092", "ca_bundle": ""}
    return HubSpec.parse({**given, **changes})


@pytest.fixture(scope="session")
def haproxy() -> tuple[str, dict[str, str]]:
    """The program, and its environment."""
    found = subprocess.run([sys.executable, ROOT / "tools" / "haproxy.py"], capture_output=True, text=True, check=True)
    folder = Path(found.stdout.strip())
    libraries = ":".join(sorted({str(path.parent) for path in folder.rglob("*.so*")}))
    return str(folder / "usr/sbin/haproxy"), {**os.environ, "LD_LIBRARY_PATH": libraries}


@dataclass
class SuperLink:
    """The stand-in: it reads the whole body, as flwr does, and answers.

    Attributes:
        port: where it listens.
        calls: path -> calls whose head it has received.
        now, most: calls that it has now, and had at most at the same time, by path.
    """

    port: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    now: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    lock: Any = field(default_factory=Lock)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _one in range(count)]
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def superlink(folder: Path, internal: certificates.Issued) -> Iterator[SuperLink]:
    state = SuperLink()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = LONG_AGO

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            with state.lock:
                state.calls[self.path] += 1
                state.now[self.path] += 1
                state.most[self.path] = max(state.most[self.path], state.now[self.path])
            try:
                left = int(self.headers["Content-Length"])
                while left and (data := self.rfile.read1(min(left, 65536))):
                    left -= len(data)
                self._answer()
            except OSError:
                self.close_connection = True
            finally:
                with state.lock:
                    state.now[self.path] -= 1

        def _answer(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_words: Any) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 1000

        def handle_error(self, *_words: Any) -> None:
            """Connections end at any time."""

    leaf = certificates.issue(internal, "superlink", ["localhost", "127.0.0.1"], DAY)
    (folder / "superlink.pem").write_text(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "superlink.pem")
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    state.port = server.server_port
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Gateway:
    """A running gateway."""

    ports: dict[int, int]
    folder: Path
    superlink: SuperLink
    contexts: dict[str | None, ssl.SSLContext] = field(default_factory=dict)

    def connect(self, client: str | None = "site-a", port: int = 9092) -> ssl.SSLSocket:
        """A connection, with the certificate of a site or without."""
        if client not in self.contexts:
            self.contexts[client] = context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if client:
                context.load_cert_chain(self.folder / f"{client}.pem")
        return self.contexts[client].wrap_socket(socket.create_connection(("127.0.0.1", self.ports[port]), timeout=LONG_AGO))

    def call(self, path: str, *headers: str, client: str | None = "site-a", port: int = 9092, body: bytes = b"") -> int:
        """The status of a call; 0 if the connection ends without one."""
        with self.connect(client, port) as connection:
            connection.sendall(head(path, *(headers or (f"Content-Length: {len(body)}",))))
            with contextlib.suppress(OSError):
                connection.sendall(body)
            try:
                return int(connection.recv(4096).split()[1])
            except (OSError, IndexError):
                return 0

    def ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.ports[8404]), timeout=1) as connection:
                connection.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
                return b" 200 " in connection.recv(100)
        except OSError:
            return False


def head(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: hub", *headers, "", "")).encode()


def configured(hub: HubSpec, folder: Path, ports: dict[int, int], superlink_port: int) -> Path:
    """The configuration with folders and ports of this test."""
    text = gateway.configuration(hub)
    for name in ("/certs", "/next", "/clients", "/internal-ca", "/rt", "/etc/gw", "/run/gw", "/metrics-control"):
        text = text.replace(f" {name}/", f" {folder}{name}/").replace(f" {name} ", f" {folder}{name} ").replace(f"({name}/", f"({folder}{name}/")
        text = text.replace(f",map({name}/", f",map({folder}{name}/")
    for port, here in ports.items():
        text = text.replace(f"bind :{port} ", f"bind 127.0.0.1:{here} ").replace(f"bind :{port}\n", f"bind 127.0.0.1:{here}\n")
    path = folder / "haproxy.cfg"
    path.write_text(text.replace("127.0.0.1:8000", f"127.0.0.1:{superlink_port}"))
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, certificates.Issued]:
    """What is mounted into the gateway, and the CA of the SuperLink."""
    folder = tmp_path_factory.mktemp("gateway")
    internal, clients = certificates.make_ca("internal", DAY), certificates.make_ca("clients", DAY)
    leaf = certificates.issue(internal, "gateway", ["hub.example.com"], DAY)
    for name in ("certs", "rt", "metrics-control"):
        (folder / name).mkdir()
        (folder / name / "tls.pem").write_text(leaf.certificate + leaf.key)
    for name in ("next", "clients", "internal-ca", "run/gw", "etc/gw"):
        (folder / name).mkdir(parents=True)
    (folder / "clients/ca.crt").write_text(clients.certificate)
    (folder / "clients/crl.pem").write_text(certificates.make_crl(clients, {}))
    (folder / "internal-ca/ca.crt").write_text(internal.certificate)
    for name in ("clients/denied.lst", "clients/keys.map", "etc/gw/denied.lst"):
        (folder / name).write_text("# none\n" if name.startswith("etc") else "")
    (folder / "metrics-control/token").write_text(TOKEN + "\n")
    for site in ("site-a", "site-b"):
        issued = issue_client(clients, site, "flower", DAY)
        (folder / f"{site}.pem").write_text(issued.certificate + issued.key)
    return folder, internal


@contextlib.contextmanager
def running(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued], **changes: Any) -> Iterator[Gateway]:
    folder, internal = files
    ports = dict(zip((9091, 9092, 9093, 8404), free_ports(4)))
    with superlink(folder, internal) as behind:
        path = configured(spec(federation="flower", **changes), folder, ports, behind.port)
        process = subprocess.Popen([haproxy[0], "-db", "-f", path], env=haproxy[1], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        made = Gateway(ports, folder, behind)
        try:
            deadline = time.monotonic() + LONG_AGO
            while not made.ready():
                assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield made
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def running_gateway(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued]) -> Iterator[Gateway]:
    with running(haproxy, files, metrics={"enabled": True}) as made:
        yield made


VARIANTS: dict[str, dict[str, Any]] = {
    "as by default": {},
    "without a ServerApp of its own": {"isolation": "subprocess"},
    "client certificates are optional": {"client_certificates": "optional"},
    "no client certificates": {"client_certificates": "none"},
    "few connections": {"gateway_max_connections": 1, "gateway_max_site_calls": 1},
    "all limits": {"gateway_source_rate": 10, "gateway_access_log": True, "gateway_max_body_bytes": 2**31 - 1},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_haproxy_accepts_the_configuration(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued], variant: str) -> None:
    path = configured(spec(**VARIANTS[variant]), files[0], {}, 8000)
    done = subprocess.run([haproxy[0], "-c", "-f", path], env=haproxy[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "[WARNING]" not in done.stderr, done.stderr


MOST = 8388608
TOO_LONG = (
    MOST + 1, 2**31 - 1, 2**31, 3_000_000_000, 2**32, 2**32 + 10, 2**32 + 100, 2**33 + 1,
    2**62, 2**63 - 1, 2**63, 2**63 + 10, 2**64 - 2, 2**64 - 1, 2**64 + 10,
)  # fmt: skip


@pytest.mark.parametrize("length", TOO_LONG)
@pytest.mark.parametrize(("port", "path"), [(9092, FLEET), (9091, RUNTIME), (9093, METRICS), (9091, "/v1/runtime/push-task-output")])
def test_a_body_that_is_too_long_does_not_reach_the_superlink(running_gateway: Gateway, port: int, path: str, length: int) -> None:
    if path.endswith("task-output"):
        length *= 32
    before = running_gateway.superlink.calls[path]
    status = running_gateway.call(path, f"Content-Length: {length}", f"X-Flower-Token: {TOKEN}", f"{gateway.HEADER}: {TOKEN}", port=port, body=b"x" * 100)
    # What is no number of 63 bits is refused by HAProxy itself, but for one.
    assert status == 503 or (length >= 2**63 and status == 400)
    assert running_gateway.superlink.calls[path] == before


@pytest.mark.parametrize(
    "headers",
    [
        ("Transfer-Encoding: chunked",),
        ("Transfer-Encoding: chunked", "Content-Length: 10"),
        ("Content-Length: 10", "Content-Length: 4294967306"),
        ("Content-Length: 10, 4294967306",),
        ("Content-Length: -1",),
        ("Content-Length: +10",),
        ("Content-Length: 0x10",),
    ],
)
@pytest.mark.parametrize(("port", "path"), [(9092, FLEET), (9091, RUNTIME)])
def test_a_length_that_can_be_read_in_two_ways_does_not_reach_the_superlink(running_gateway: Gateway, port: int, path: str, headers: tuple[str, ...]) -> None:
    before = running_gateway.superlink.calls[path]
    assert running_gateway.call(path, *headers, port=port, body=b"5\r\nhello\r\n0\r\n\r\n") in (400, 503)
    assert running_gateway.superlink.calls[path] == before


@pytest.mark.parametrize("size", [0, 10, 5_243_820, MOST])
@pytest.mark.parametrize(("port", "path"), [(9092, FLEET), (9091, RUNTIME)])
def test_what_flower_sends_passes(running_gateway: Gateway, port: int, path: str, size: int) -> None:
    assert running_gateway.call(path, port=port, body=b"x" * size) == 200


@pytest.mark.parametrize("call", ["push-task-output", "put-compacted-context"])
def test_the_context_of_an_app_may_be_larger(running_gateway: Gateway, call: str) -> None:
    assert call in RUNTIME_CALLS
    assert running_gateway.call(f"/v1/runtime/{call}", port=9091, body=b"x" * (3 * MOST)) == 200


class Slow:
    """Many calls that send one byte of their body at a time."""

    def __init__(self, made: Gateway, count: int, path: str, **options: Any) -> None:
        self.connections: list[ssl.SSLSocket] = []
        for _one in range(count):
            with contextlib.suppress(OSError):
                connection = made.connect(**options)
                self.connections.append(connection)
                if path:
                    connection.sendall(head(path, "Content-Length: 8000000") + b"x")

    def drip(self) -> None:
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"x")

    def __enter__(self) -> Slow:
        return self

    def __exit__(self, *_error: Any) -> None:
        for connection in self.connections:
            connection.close()

    def open(self) -> int:
        """How many of them HAProxy has not closed."""
        count = 0
        for connection in self.connections:
            connection.settimeout(0.01)
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                try:
                    count += bool(connection.recv(4096))
                except TimeoutError:
                    count += 1
        return count


def works(made: Gateway, client: str | None = "site-a", port: int = 9092, path: str = "/v1/fleet/send-node-heartbeat") -> bool:
    """Whether some calls succeed, each within seconds."""
    begun = time.monotonic()
    good = all(made.call(path, client=client, port=port, body=b"x" * 100) == 200 for _one in range(5))
    return good and time.monotonic() - begun < 10


def test_slow_calls_of_one_site_leave_the_superlink_to_the_others(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued]) -> None:
    with running(haproxy, files) as made:
        assert works(made) and works(made, "site-b")
        with Slow(made, 300, FLEET, client="site-b") as slow:
            for _round in range(3):
                slow.drip()
                assert works(made)
                assert works(made, None, 9091, RUNTIME)
            assert 0 < made.superlink.most[FLEET] <= spec().gateway_max_site_calls
        deadline = time.monotonic() + LONG_AGO
        while not works(made, "site-b"):  # afterwards it has its share again
            assert time.monotonic() < deadline


def test_slow_calls_of_an_app_leave_the_superlink_to_the_sites(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued]) -> None:
    with running(haproxy, files) as made, Slow(made, 100, RUNTIME, client=None, port=9091) as slow:
        for _round in range(2):
            slow.drip()
            assert works(made)
        assert 0 < made.superlink.most[RUNTIME] <= gateway._RUNTIME_CALLS


@pytest.mark.parametrize("path", ["", "/v1/fleet/unknown", gateway.PROBE])
def test_idle_connections_of_one_site_leave_the_port_to_the_others(
    haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued], path: str
) -> None:
    with running(haproxy, files, gateway_max_connections=80, gateway_max_site_calls=20) as made, Slow(made, 200, path, client="site-b") as many:
        assert works(made)
        if not path:
            assert many.open() <= 20


def test_a_site_may_have_as_many_calls_as_its_share(haproxy: tuple[str, dict[str, str]], files: tuple[Path, certificates.Issued]) -> None:
    with running(haproxy, files, gateway_max_site_calls=10) as made, Slow(made, 9, FLEET, client="site-b"):
        deadline = time.monotonic() + LONG_AGO
        while made.superlink.now[FLEET] < 9:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        while not works(made, "site-b"):  # a call counts until HAProxy has closed its connection
            assert time.monotonic() < deadline
