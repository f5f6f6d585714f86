# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to an API server: bodies, its clock, credentials that are renewed, pauses, kinds that are installed meanwhile, lists in pages."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import websocket
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube import client
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ApiError,
    NotFound,
    NotServed,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import Access
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, encoded
from ansible_collections.federated.flower.tests.unit.rows import each_row

TEXTS = [
    "plain",
    'a "quoted" \\ text with \\u0041',
    "first\nsecond\ttab\r",
    "Zürich 東京",
    "beyond: 🌷 𝔘",
    "ends of lines: \u0085 \u2028 \u2029 \x7f",
    "{{X}} }} {{",
]


@each_row("text", TEXTS)
def test_json_and_yaml_read_the_same(text):
    body = encoded({"data": {text: text}})
    assert json.loads(body) == yaml.safe_load(body.decode()) == {"data": {text: text}}


def test_nothing_beyond_ascii_stands_as_it_is_unless_it_has_to():
    assert encoded(["é", "🌷"]) == b'["\\u00e9","\xf0\x9f\x8c\xb7"]'


@pytest.fixture
def cluster():
    """A connection that was never opened."""
    made = object.__new__(Cluster)
    made._clock = None
    return made


def test_unknown(cluster):
    assert cluster.skew is None
    for date in (None, "", "yesterday"):
        cluster._note_clock(time.time(), date)
        assert cluster.skew is None


@pytest.mark.parametrize("ahead", [0, 40, -400])
def test_skew(cluster, ahead):
    now = time.time()
    cluster._note_clock(now, formatdate(now + ahead, usegmt=True))
    assert abs(cluster.skew - ahead) < 1.1


def test_the_quickest_answer_counts(cluster):
    now = time.time()
    cluster._note_clock(now, formatdate(now, usegmt=True))
    cluster._note_clock(now - 20, formatdate(now - 20, usegmt=True))  # an answer that took 20 s
    assert abs(cluster.skew) < 1.1


@pytest.mark.parametrize(("renewable", "renewals"), [(True, 1), (False, 0)])
def test_credentials_are_renewed_once(monkeypatch: pytest.MonkeyPatch, renewable: bool, renewals: int) -> None:
    access = Access("hub", "https://hub.example.com", renewable=renewable)
    renewed: list[Any] = []
    tried: list[str] = []

    def connect(_socket: Any, url: str, **_options: Any) -> None:
        tried.append(url)
        raise websocket.WebSocketBadStatusException("Handshake status 401 Unauthorized", 401)

    monkeypatch.setattr(websocket.WebSocket, "connect", connect)
    monkeypatch.setattr(client, "resolve", lambda auth: renewed.append(auth) or access)
    with client.Cluster(access) as cluster, pytest.raises(Unauthorized, match=r"does not accept the credentials .*\(401\)"):
        cluster.exec("flower", "superlink-0", "superlink", ["true"])
    assert len(renewed) == renewals and len(tried) == renewals + 1


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


class Busy:
    """An API server that gives some answers (status, Retry-After; 0 closes the connection), then 200."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers, self.asked = list(answers), list[str]()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                served.asked.append(self.command)
                status, retry_after = served.answers.pop(0) if served.answers else (200, "")
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in (("Retry-After", retry_after), ("Content-Length", "2")):
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Busy:
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited for, without doing so."""
    found: list[float] = []
    monkeypatch.setattr(client.time, "sleep", found.append)
    return found


CONFIG_MAPS, REVIEWS = "/api/v1/namespaces/flower/configmaps", "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@each_row("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_what_an_api_server_has_refused_to_carry_out_is_sent_again(pauses: list[float], method: str) -> None:
    """Its limits apply to writes, too (API Priority and Fairness); it says when to come back."""
    with Busy((429, "1"), (429, "32")) as server, client.Cluster(Access("hub", server.url), timeout=90) as cluster:
        cluster.request(method, CONFIG_MAPS, body={})
        assert server.asked == [method] * 3 and pauses[-2:] == [1, 32]


@each_row("retry_after", ["91", "1e400", "nan"])
def test_no_api_server_makes_others_wait_for_longer_than_they_would(pauses: list[float], retry_after: str) -> None:
    with Busy(*[(429, retry_after)] * 9) as server, client.Cluster(Access("site", server.url), timeout=90) as cluster:
        with pytest.raises(ApiError):
            cluster.request("GET", CONFIG_MAPS)
        assert sum(pauses) < 90 and len(server.asked) <= 3


@each_row("answer", [0, 503])
def test_a_question_is_asked_again_and_no_other_post(pauses: list[float], answer: int) -> None:
    """An answer that was lost: something may have been created. Who asks for rights has created nothing."""
    with Busy((answer, "")) as server, client.Cluster(Access("hub", server.url)) as cluster:
        cluster.request("POST", REVIEWS, body={})
        assert server.asked == ["POST", "POST"]
        server.answers.append((answer, ""))
        with pytest.raises((Unreachable, Unavailable)) as lost:
            cluster.request("POST", CONFIG_MAPS, body={})
        assert lost.value.unsure and len(server.asked) == 3


API = "skupper.io/v2alpha1"


class Growing(Cluster):
    """An API server that gets definitions."""

    def __init__(self) -> None:
        self.name, self._kinds = "hub", {}
        self.served: list[str] = []
        self.asked = 0

    def request(self, method: str, path: str, **_more: Any) -> dict[str, Any]:
        self.asked += 1
        if not self.served:
            raise NotFound("hub", f"{method} {path}", 404, {})
        return {"resources": [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True, "verbs": ["get"]} for kind in self.served]}


def test_a_kind_is_found_as_soon_as_it_is_installed() -> None:
    cluster = Growing()
    for served in ([], ["Site"]):
        cluster.served = served
        with pytest.raises(NotServed, match="does not serve MultiKeyListener"):
            cluster.resource(API, "MultiKeyListener")
        assert [one.kind for one in cluster.resources(API)] == served
    cluster.served = ["Site", "MultiKeyListener"]
    assert cluster.resource(API, "MultiKeyListener").plural == "multikeylisteners"
    asked = cluster.asked
    assert cluster.resource(API, "Site").namespaced and cluster.asked == asked, "a kind that is known costs a request"


class Forgetful(Cluster):
    """Answers as an API server does whose store was compacted between two pages, some times."""

    def __init__(self, times):
        self.times = times
        self.asked = []

    def request(self, method, path, *, query=None, body=None, content_type="", **_more):
        """The first page, then 410, and after that the second page."""
        self.asked.append(query.get("continue", ""))
        if not query.get("continue"):
            return {"metadata": {"continue": "next"}, "items": [{"metadata": {"name": "a"}}]}
        if self.times:
            self.times -= 1
            raise ApiError(
                "hub",
                f"{method} {path}",
                410,
                {"reason": "Expired", "message": "The provided continue parameter is too old"},
            )
        return {"metadata": {}, "items": [{"metadata": {"name": "b"}}]}


def test_a_list_begins_again():
    cluster = Forgetful(1)
    assert [one["metadata"]["name"] for one in cluster.list("v1", "ConfigMap", "flower")] == ["a", "b"]
    assert cluster.asked == ["", "next", "", "next"]


def test_but_not_for_ever():
    with pytest.raises(ApiError, match="too old"):
        Forgetful(99).list("v1", "ConfigMap", "flower")
