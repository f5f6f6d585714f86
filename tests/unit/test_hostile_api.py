# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hostile API server of the scenario: it passes on what no rule is about, and each of its answers ends the work on one site."""

from __future__ import annotations

import datetime
import json
import ssl
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.applyset import PART_OF
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.tests.integration import hostile_api
from ansible_collections.federated.flower.tests.integration.hostile_api import ANSWERS, EXECS, HostileApi
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client

DAY = datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileApi]:
    """The proxy, in front of an API server that repeats each request with the name of its client."""
    folder = tmp_path_factory.mktemp("hostile")
    authority = certificates.make_ca("test", DAY)
    leaf = certificates.issue(authority, "localhost", ["localhost", "127.0.0.1"], DAY)
    client = issue_client(authority, "administrator", "test", DAY)
    (folder / "ca.pem").write_text(authority.certificate)
    (folder / "server.pem").write_text(leaf.certificate + leaf.key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            subject = dict(pair for (pair,) in self.connection.getpeercert()["subject"])
            said = {"path": self.path, "client": subject["commonName"], "token": self.headers.get("Authorization")}
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: Any) -> None:
            """Nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found = HostileApi(f"https://127.0.0.1:{server.server_port}", authority.certificate, client.certificate + client.key, folder / "server.pem")
    found.folder = folder
    yield found
    found.close()
    server.shutdown()
    server.server_close()


def site(api: HostileApi, name: str = "site-c", timeout: float = 10) -> Cluster:
    return connect({"host": f"{api.url}/{name}", "ca_cert": str(api.folder / "ca.pem"), "api_key": "t"}, timeout=timeout)


def test_what_no_rule_is_about_is_passed_on(api: HostileApi) -> None:
    api.rules = {"site-c": [("POST ", ANSWERS["deep lists"])], "site-d": [(".", ANSWERS["deep lists"])]}
    assert site(api).request("GET", "/version?x=1") == {"path": "/version?x=1", "client": "administrator", "token": None}
    assert api.refused == {}


# The words are those that the scenario expects.
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("deep lists", "nested too deeply"),
        ("deep objects", "nested more than 200 levels deep"),
        ("2^31 bytes", "larger than 16 MiB"),
        ("2^32 + 10 bytes", "larger than 16 MiB"),
        ("endless list", "larger than 16 MiB"),
        ("endless pieces", "larger than 16 MiB"),
        ("as many small objects as are read", "is not an API server"),
        ("compressed", "is not an API server"),
        ("compressed error", "GET /version"),
        ("slow body", "did not answer within 2 s"),
        ("slow headers", "did not answer within 2 s"),
    ],
)
def test_a_hostile_answer_is_refused(api: HostileApi, kind: str, words: str) -> None:
    api.rules, api.refused = {"site-c": [("GET /version$", ANSWERS[kind])]}, {}
    begun = time.monotonic()
    with site(api, timeout=2) as cluster, pytest.raises(ClusterError, match=words):
        cluster.request("GET", "/version")
    assert time.monotonic() - begun < 20
    assert set(api.refused["site-c"]) == {"GET /version"}
    assert site(api, "site-d").request("GET", "/version")["path"] == "/version"


def test_an_exec_is_answered(api: HostileApi) -> None:
    api.rules = {"site-c": [("/exec[?]", EXECS["endless output"])]}
    with pytest.raises(ClusterError, match="too long|more than"):
        site(api).exec("flower", "supernode-0", "supernode", ["python"])


def test_what_is_left_over_has_no_room_in_one_entry_of_the_audit_trail(api: HostileApi) -> None:
    api.rules = {"site-c": hostile_api.leftovers(400)}
    cluster = site(api)
    found = cluster.list("v1", "ConfigMap", "flower", labels=f"{PART_OF}=applyset-x-v1")
    assert len(found) == 400 and {len(one["metadata"]["name"]) for one in found} == {253}
    assert cluster.list("v1", "ConfigMap", "flower", labels="app.kubernetes.io/component=x") == []
    name = found[-1]["metadata"]["name"]
    assert cluster.delete("v1", "ConfigMap", name, "flower", uid=found[-1]["metadata"]["uid"]) is not None
    assert cluster.get("v1", "ConfigMap", name, "flower") is None
    facts = audit_notes.of_objects({"kind": "ConfigMap", "namespace": "flower", "name": one["metadata"]["name"], "change": "deleted"} for one in found)
    assert len(json.dumps(facts)) > 1024 * 1024
