# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook that copies tables to the sites: where it connects, and what it starts in the pods."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.read import ROOT

pytestmark = pytest.mark.playbook

PLAYBOOK = ROOT / "examples/tabular/load.yml"


class Forbids(BaseHTTPRequestHandler):
    """Refuses every request, and remembers that there was one."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        body = json.dumps({"kind": "Status", "code": 403, "message": "refused"}).encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def servers() -> Iterator[dict[str, Any]]:
    """Three API servers."""
    made: dict[str, Any] = {}
    for name in ("site-a", "site-b", "site-c"):
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Forbids)
        server.asked = []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        made[name] = server
    yield made
    for server in made.values():
        server.shutdown()
        server.server_close()


def address(server: Any) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def play(tmp_path: Path, servers: dict[str, Any]) -> Any:
    """Run the playbook for some sites; the shared kubeconfig has contexts for all servers, and that of site-a is the current one."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "site-a",
                "clusters": [{"name": name, "cluster": {"server": address(one)}} for name, one in servers.items()],
                "contexts": [{"name": name, "context": {"cluster": name, "user": "x"}} for name in servers],
                "users": [{"name": "x", "user": {"token": "x"}}],
            }
        )
    )

    def run(sites: dict[str, dict[str, Any]], **environment: str) -> SimpleNamespace:
        for site in sites:
            (tmp_path / "tables" / site).mkdir(parents=True)
            (tmp_path / "tables" / site / "biopsies.csv").write_text("x\n")
        inventory = tmp_path / "fleet.yml"
        shared = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "flower_kubeconfig": str(kubeconfig),
            "flower_app_image": "x",
        }
        inventory.write_text(json.dumps({"all": {"vars": shared, "children": {"flower_sites": {"hosts": sites}}}}))
        done = subprocess.run(
            ["ansible-playbook", "-i", inventory, PLAYBOOK, "-e", f"study_tables={tmp_path / 'tables'}"],
            env={
                **os.environ,
                "HOME": str(tmp_path),
                "KUBECONFIG": str(kubeconfig),
                "ANSIBLE_NOCOLOR": "1",
                **environment,
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        recap = dict(re.findall(r"^(\S+) +: .*failed=(\d+)", done.stdout, re.MULTILINE))
        return SimpleNamespace(
            text=" ".join(done.stdout.split()), failed={site for site in recap if recap[site] != "0"}
        )

    return run


def test_a_table_goes_to_the_cluster_of_its_site_or_nowhere(play: Any, servers: dict[str, Any]) -> None:
    done = play(
        {
            "site-b": {"flower_context": "site-b"},
            "site-c": {"flower_auth": {"host": address(servers["site-c"]), "api_key": "secret-token"}},
            "site-d": {},
            "site-e": {"flower_auth": {"api_key": "x"}},
            "site-f": {"flower_delivery": "ocm"},
        }
    )
    assert servers["site-b"].asked and servers["site-c"].asked
    assert not servers["site-a"].asked  # the current context of the kubeconfig that all share
    assert done.failed == {"site-b", "site-c", "site-d", "site-e"}, done.text
    for site in ("site-d", "site-e"):
        assert f"{site}: neither flower_context nor flower_auth with a host is set" in done.text
    assert "site-f: flower_delivery is ocm. The administrators of the site copy biopsies.csv to its claim" in done.text
    assert "secret-token" not in done.text


def test_the_environment_does_not_replace_the_cluster_of_a_context(play: Any, servers: dict[str, Any]) -> None:
    done = play({"site-b": {"flower_context": "site-b"}}, K8S_AUTH_HOST=address(servers["site-a"]))
    assert done.failed == {"site-b"} and "K8S_AUTH_HOST in the environment" in done.text
    assert not any(server.asked for server in servers.values())


def tasks(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Tasks, and those in blocks."""
    for task in found:
        yield task
        for part in ("block", "always"):
            yield from tasks(task.get(part, []))


def in_pod(name: str, folder: Path, checksum: str = "") -> subprocess.CompletedProcess[str]:
    """What a task starts in the pod, here."""
    (play,) = yaml.safe_load(PLAYBOOK.read_text())
    (command,) = (task["kubernetes.core.k8s_exec"]["command"] for task in tasks(play["tasks"]) if task["name"] == name)
    command = command.replace("{{ study_file.stat.checksum }}", checksum).replace("/biopsies/", f"{folder}/")
    assert "{{" not in command
    return subprocess.run([sys.executable, *shlex.split(command)[1:]], capture_output=True, text=True, check=False)


def test_the_table_on_the_claim_is_compared(tmp_path: Path) -> None:
    look = "Read the table on the claim"
    assert in_pod(look, tmp_path).stdout == "none\n"
    (tmp_path / "biopsies.csv").write_bytes(b"1\n")
    assert in_pod(look, tmp_path).stdout == hashlib.sha256(b"1\n").hexdigest() + "\n"


def test_a_table_gets_its_name_when_all_of_it_has_arrived(tmp_path: Path) -> None:
    rename, checksum = "Verify and rename the temporary file", hashlib.sha256(b"1\n2\n").hexdigest()
    part, table = tmp_path / ".biopsies.csv.part", tmp_path / "biopsies.csv"
    table.write_bytes(b"old\n")
    assert in_pod(rename, tmp_path, checksum).returncode  # nothing has arrived
    part.write_bytes(b"1\n")
    cut = in_pod(rename, tmp_path, checksum)
    assert cut.returncode and "not all of the table has arrived" in cut.stderr
    assert table.read_bytes() == b"old\n"
    part.write_bytes(b"1\n2\n")
    assert not in_pod(rename, tmp_path, checksum).returncode
    assert table.read_bytes() == b"1\n2\n" and not part.exists()
