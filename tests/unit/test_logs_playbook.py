# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""logs.yml and support.yml against a stand-in for the API servers of a hub and two sites."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.base.version import VERSION

pytestmark = pytest.mark.playbook

T = "2026-11-28T19:30:0"
PASSWORD, KEY = "correct-horse-battery", "MC4CAQAwBQYDK2VwBCIEIJ"
PEM = f"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"


def pod(name: str, app: str, containers: Mapping[str, int], waiting: str = "") -> dict[str, Any]:
    """A pod with containers and their restarts, and one more that waits."""
    statuses = [{"name": one, "restartCount": count, "containerID": f"c://{one}", "state": {"running": {}}, "ready": True} for one, count in containers.items()]
    if waiting:
        statuses.append({"name": "app", "restartCount": 0, "ready": False, "state": {"waiting": {"reason": waiting}}})
    labels = {"app.kubernetes.io/name": app, "app.kubernetes.io/instance": "flower", "app.kubernetes.io/managed-by": "federated.flower"}
    env = [{"name": "API_TOKEN", "value": "plain-in-a-pod"}, {"name": "MODE", "value": "fast"}]
    spec = {"containers": [{"name": one, "env": env} for one in containers]}
    meta = {"name": name, "namespace": "flower", "uid": name, "labels": labels, "managedFields": [{"manager": "x"}]}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running", "containerStatuses": statuses}}


class Clusters:
    """What the clusters have, by the first part of the path of a request.

    Attributes:
        pods: cluster -> its pods.
        logs: (cluster, pod, container, previous) -> lines.
        asked: queries for logs.
        refused: clusters that refuse logs.
    """

    def __init__(self) -> None:
        self.pods = {
            "hub": [pod("superlink-0", "superlink", {"superlink": 0, "gateway": 0})],
            "site-a": [pod("supernode-cpu-0", "supernode", {"supernode": 1})],
            "site-b": [pod("supernode-cpu-0", "supernode", {"supernode": 0}, waiting="ImagePullBackOff")],
        }
        self.logs: dict[tuple[str, str, str, bool], list[str]] = {
            ("hub", "superlink-0", "superlink", False): [f"{T}1.5Z \x1b[92mINFO\x1b[0m : first", f"{T}5Z INFO : last"],
            ("hub", "superlink-0", "gateway", False): [f"{T}3.000000001Z third"],
            ("site-a", "supernode-cpu-0", "supernode", False): [f"2026-11-28T21:30:03+02:00 second \x07{PASSWORD}", f"{T}4Z ERROR: fourth {TOKEN}"],
            ("site-a", "supernode-cpu-0", "supernode", True): [f"{T}0Z it crashed"],
            ("site-b", "supernode-cpu-0", "supernode", False): [f"{T}2Z site-a supernode-cpu-0/supernode: forged"],
        }
        self.asked: list[dict[str, str]] = []
        self.refused: set[str] = set()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        parts, query = urlsplit(path).path.strip("/").split("/"), {key: value[0] for key, value in parse_qs(urlsplit(path).query).items()}
        cluster, kind = parts[0], parts[-1]
        if kind == "log":
            if cluster in self.refused:
                return 403, "application/json", b'{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods/log is forbidden"}'
            self.asked.append(query)
            lines = self.logs.get((cluster, parts[-2], query["container"], query.get("previous") == "true"), [])
            return 200, "text/plain", "".join(f"{line}\n" for line in lines[-int(query["tailLines"]) :]).encode()
        if kind == "version":
            return 200, "application/json", b'{"gitVersion": "v1.35.0"}'
        items: list[Any] = []
        if kind == "pods":
            names = query["labelSelector"].rpartition("(")[2].rstrip(")").split(",") if "name in" in query["labelSelector"] else []
            items = [one for one in self.pods[cluster] if not names or one["metadata"]["labels"]["app.kubernetes.io/name"] in names]
        if kind == "secrets":
            data = {"password": PASSWORD, "tls.key": PEM, "tls.crt": "-----BEGIN CERTIFICATE-----\nPublicCertificate\n-----END CERTIFICATE-----\n"}
            encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
            items = [{"metadata": {"name": f"keys-{cluster}", "labels": self.pods[cluster][0]["metadata"]["labels"]}, "data": encoded}]
        if kind == "events":
            items = [{"metadata": {"name": "e"}, "message": f"Failed to pull image with {PASSWORD} at https://joe:hidden-pass@registry/", "reason": "Failed"}]
        if kind == "configmaps" and "labelSelector" in query:
            data = {"ca.crt": "-----BEGIN CERTIFICATE-----\nPublicCertificate\n-----END CERTIFICATE-----\n"}
            items = [{"metadata": {"name": "supernode-trust"}, "data": data}]
        if "?" not in path and kind not in ("pods", "secrets", "configmaps", "events"):
            return 404, "application/json", json.dumps({"kind": "Status", "code": 404, "message": "not found", "details": {"name": kind}}).encode()
        return 200, "application/json", json.dumps({"items": items}).encode()


@pytest.fixture
def clusters() -> Iterator[tuple[Clusters, str]]:
    held = Clusters()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, kind, body = held.answer(self.path) if self.command == "GET" else (404, "application/json", b"{}")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield held, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def command(folder: Path, url: str, playbook: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """A command line and its environment."""

    def auth(name: str) -> dict[str, Any]:
        return {"flower_auth": {"host": f"{url}/{name}", "api_key": "token-of-the-api"}}

    sites = {name: auth(name) for name in ("site-a", "site-b")}
    sites["site-a"]["supernode_env"] = [{"name": "DB_PASSWORD", "value": "in-the-inventory"}]
    sites["site-c"] = {"flower_delivery": "ocm"}
    inventory = {
        "all": {
            "vars": {"ansible_connection": "local", "flower_api_timeout": 5},
            "children": {"flower_hub": {"hosts": {"hub": auth("hub")}}, "flower_sites": {"hosts": sites}},
        }
    }
    (folder / "fleet.yml").write_text(yaml.safe_dump(inventory))
    return ["ansible-playbook", "-i", "fleet.yml", f"federated.flower.{playbook}", *arguments], {**os.environ, "ANSIBLE_NOCOLOR": "1"}


def play(folder: Path, url: str, playbook: str, *variables: str, limit: str = "", rc: int = 0) -> str:
    words = [word for one in variables for word in ("-e", one)] + (["--limit", limit] if limit else [])
    line, environment = command(folder, url, playbook, *words)
    done = subprocess.run(line, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == rc, done.stdout + done.stderr
    return done.stdout + done.stderr


def shown(output: str) -> list[str]:
    """Lines of logs, without their time."""
    return [line.partition("Z ")[2] for line in output.splitlines() if line.startswith("2026-11-28T19:30:0")]


ALL = [
    "hub superlink-0/superlink: INFO : first",
    "site-b supernode-cpu-0/supernode: site-a supernode-cpu-0/supernode: forged",
    f"site-a supernode-cpu-0/supernode: second {PASSWORD}",
    "hub superlink-0/gateway: third",
    f"site-a supernode-cpu-0/supernode: ERROR: fourth {TOKEN}",
    "hub superlink-0/superlink: INFO : last",
]


def test_lines_of_all_clusters_are_in_the_order_of_time_and_what_is_missing_is_named(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    _held, url = clusters
    output = play(tmp_path, url, "logs")
    assert shown(output) == ALL
    words = " ".join(output.split())
    assert "site-b: pod supernode-cpu-0 (Running): container app ImagePullBackOff" in words
    assert "site-c: " in words and "flower_delivery: ocm" in words


def test_filters(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    chosen = play(tmp_path, clusters[1], "logs", "flower_logs_grep=ERROR|first|second|third", "flower_logs_since=2026-11-28T19:30:03", limit="hub,site-a")
    assert shown(chosen) == ALL[2:5]
    assert shown(play(tmp_path, clusters[1], "logs", "flower_logs_previous=true")) == ["site-a supernode-cpu-0/supernode: it crashed"]


def test_wrong_options_are_refused_together(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    held, url = clusters
    wrong = ("flower_logs_lines=20000", "flower_logs_grep=(", "flower_logs_since=yesterday", "flower_run_id=last")
    words = " ".join(play(tmp_path, url, "logs", *wrong, rc=2).split())
    for fault in (
        "lines: 20000 is not a number from 1 to 10000",
        "grep: '(' is not a regular expression",
        "since: 'yesterday' is neither a time",
        "run_id: a run id is a number, not 'last'",
    ):
        assert fault in words
    assert held.asked == []


def test_a_cluster_that_refuses_keeps_no_other_one_back(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    held, url = clusters
    held.refused = {"site-a"}
    output = play(tmp_path, url, "logs")
    assert shown(output) == [line for line in ALL if not line.startswith("site-a")] and "pods/log is forbidden" in output
    held.refused = {"site-a", "site-b", "hub"}
    play(tmp_path, url, "logs", rc=2)


def test_new_lines_are_shown_while_it_follows(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    held, url = clusters
    line, environment = command(tmp_path, url, "logs", "-e", "flower_logs_follow=12")
    with subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            if "INFO : last" in text:
                break
        held.logs["site-b", "supernode-cpu-0", "supernode", False].append(f"{T}6Z new")
        begun = time.monotonic()
        new = [text.partition("Z ")[2].strip() for text in process.stdout if text.startswith(f"{T}6") and time.monotonic() - begun < 100][:1]
        process.wait()
    assert new == ["site-b supernode-cpu-0/supernode: new"]


def test_the_archive_names_the_fault_first_and_has_no_secret(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    _held, url = clusters
    output = play(tmp_path, url, "support", f"flower_support_file={tmp_path}")
    (path,) = tmp_path.glob("flower-support-flower-*.tar.gz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and str(path) in output
    with tarfile.open(path) as archive:
        files = {name.partition("/")[2]: archive.extractfile(name).read().decode() for name in archive.getnames()}  # type: ignore[union-attr]
    wanted = {"CONTENTS.txt", "status.json", "inventory.json", "versions.json", "audit.txt", "hub/objects.json", "site-a/logs.txt", "site-b/events.json"}
    assert set(files) >= wanted
    table = files["CONTENTS.txt"]
    assert table.index("no SuperLink is deployed") < table.index("Files:") < table.rindex("site-c")
    whole = "\n".join(files.values())
    hidden = (PASSWORD, KEY, TOKEN, "token-of-the-api", "in-the-inventory", "plain-in-a-pod", "hidden-pass", base64.b64encode(PASSWORD.encode()).decode())
    assert [one for one in hidden if one in whole] == []
    assert "PublicCertificate" in files["site-a/objects.json"] and "keys-site-a" in files["site-a/objects.json"]
    assert "fast" in files["site-a/objects.json"] and "managedFields" not in whole
    assert "Failed to pull image" in files["site-b/events.json"]
    assert "third" in files["hub/logs.txt"] and "v1.35.0" in files["versions.json"] and VERSION in files["versions.json"]
    assert f"{path} exists" in " ".join(play(tmp_path, url, "support", f"flower_support_file={path}", rc=2).split())


def test_a_restart_needs_a_limit(tmp_path: Path, clusters: tuple[Clusters, str]) -> None:
    output = play(tmp_path, clusters[1], "restart", rc=2)
    assert "Set the hosts to restart: --limit hub" in output
    assert "TASK [Restart the pods]" not in output
