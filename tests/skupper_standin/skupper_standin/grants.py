# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The grant server of one cluster (§2a): HTTPS, one redemption for each POST of a right code."""

from __future__ import annotations

import datetime
import http.server
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from . import pki, tokens
from .conditions import Status
from .kube import ApiError, Client, Object
from .store import Store
from .switches import REDEEM, Switches, annotation

NAMESPACE = "skupper"
SECRET = "skupper-grant-server"
FIRST_PORT = 9090  # §7; the next free one where it is in use


class RefusalError(Exception):
    """What the server answers instead of a link."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class GrantServer:
    """Serves the grants of one cluster; ``address`` is where its sites reach it."""

    def __init__(
        self,
        client: Client,
        store: Store,
        switches: Callable[[], Switches],
        log: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._client, self._store, self._switches, self._log = client, store, switches, log
        self._changed = changed
        self._lock = threading.Lock()
        self._serial = ""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.host = _own_address(client.host, client.port)
        self.url = ""
        self.ca = ""

    def refresh(self) -> None:
        """Take the certificate from its Secret; start to serve when there is one."""
        secret = self._store.get("Secret", NAMESPACE, SECRET)
        if secret is None or pki.serial(secret) == self._serial:
            return
        with tempfile.NamedTemporaryFile("wb") as file:
            file.write(pki.field(secret, "tls.crt") + b"\n" + pki.field(secret, "tls.key"))
            file.flush()
            self._context.load_cert_chain(file.name)
        self._serial, self.ca = pki.serial(secret), pki.field(secret, "ca.crt").decode()
        if not self.url:
            self._start()
        self._changed()

    def _start(self) -> None:
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size).decode(errors="replace")
                try:
                    status, text = 200, owner.redeem(self.path, body, self.headers)
                except RefusalError as refusal:
                    status, text = refusal.status, f"{refusal}\n"
                owner._log(f"grant server: POST {self.path} -> {status}{'' if status == 200 else f' {text.strip()}'}")
                self._answer(status, text)

            def do_GET(self) -> None:
                self._answer(405, "Only POST is supported\n")

            def _answer(self, status: int, text: str) -> None:
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self) -> tuple[ssl.SSLSocket, Any]:
                connection, address = super().get_request()
                connection.settimeout(10)
                # the handshake happens in the thread of the request, at its first read
                wrapped = owner._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return wrapped, address

            def handle_error(self, request: Any, client_address: Any) -> None:
                owner._log(f"grant server: a client at {client_address[0]} gave up")

        for port in (*range(FIRST_PORT, FIRST_PORT + 40), 0):
            try:
                server = Server(("", port), Handler)
                break
            except OSError:
                continue
        self.url = f"https://{self.host}:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._log(f"grant server at {self.url}")

    def redeem(self, path: str, code: str, headers: Any) -> str:
        """One redemption; returns Secret and Links. Raises RefusalError.

        §2a.1: it is counted before anything is made, so that a failure afterwards burns it.
        """
        with self._lock:
            grant = self._find(path)
            status = Status(grant)
            end = status.value.get("expirationTime")
            if not end:
                raise RefusalError(500, "Corrupted claim")
            if tokens.parse_time(end) < datetime.datetime.now(datetime.timezone.utc):
                raise RefusalError(404, "No such claim")
            if grant["spec"].get("redemptionsAllowed", 0) <= status.value.get("redemptions", 0):
                raise RefusalError(404, "No such access granted")
            if status.value.get("code") != code:
                raise RefusalError(403, "Redemption of access token refused")
            status.value["redemptions"] = status.value.get("redemptions", 0) + 1
            try:
                grant = self._client.replace({**grant, "status": status.value}, "status")
            except (ApiError, OSError) as error:
                raise RefusalError(503, "Internal error") from error
            self._store.put(grant)
        if annotation(grant, REDEEM) == "500":
            raise RefusalError(500, "No valid endpoints found for site")
        name = headers.get("name") or grant["metadata"]["name"]
        return self._link(grant["metadata"]["namespace"], name, headers.get("subject") or name)

    def _find(self, path: str) -> Object:
        """By uid; §2a: also by namespace and name if the controller allows that."""
        parts = [part for part in path.split("/") if part]
        for grant in self._store.all("AccessGrant"):
            data = grant["metadata"]
            by_key = self._switches().redeem_by_key and parts == [data["namespace"], data["name"]]
            if parts == [data["uid"]] or by_key:
                # the newest, so that no redemption is counted twice
                found = self._client.get("AccessGrant", data["namespace"], data["name"])
                if found is not None and found["metadata"]["uid"] == data["uid"]:
                    return found
        raise RefusalError(404, "No such claim")

    def _link(self, namespace: str, name: str, subject: str) -> str:
        """§2a: a new client certificate by the Site's default issuer (the grant's issuer is ignored)."""
        site = next(
            (one for one in self._store.all("Site", namespace) if (one.get("status") or {}).get("defaultIssuer")), None
        )
        if site is None:
            raise RefusalError(500, f"Site not yet defined for {namespace}")
        issuer = self._store.get("Secret", namespace, site["status"]["defaultIssuer"])
        if issuer is None:
            raise RefusalError(500, "Could not get issuer for requested certificate")
        if site["spec"].get("edge"):
            raise RefusalError(500, "Edge sites cannot accept incoming links from remote sites")
        hosts = [one["host"] for one in site["status"].get("endpoints", [])]
        if not hosts:
            raise RefusalError(500, "No valid endpoints found for site")
        try:
            data = pki.make(subject, sorted(set(hosts)), issuer)
        except pki.SigningError as error:
            raise RefusalError(500, str(error)) from error
        return tokens.response_for(site, data, name)


def _own_address(host: str, port: int) -> str:
    """The address of this machine on the way to a cluster."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return str(probe.getsockname()[0])
