# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a playbook of this collection against stand-ins on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import yaml

MISSING = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}


@contextmanager
def api_server(answers: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Its address, and the headers of all requests. It has nothing but C(answers), by the end of a path."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append({**dict(self.headers.items()), "path": self.path, "method": self.command})
            found = next((answer for end, answer in (answers or {}).items() if self.path.endswith(end)), None)
            body = json.dumps(found or MISSING).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
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
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def inventory(hub: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An inventory of a hub and some sites: their variables."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    return {"all": {"vars": local, "children": {"flower_hub": {"hosts": {"hub": hub}}, "flower_sites": {"hosts": dict(sites)}}}}


def written(folder: Path, content: str | Mapping[str, Any]) -> Path:
    """The inventory as a file."""
    path = folder / "fleet.yml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return path


def play(fleet: Path, playbook: str, *options: str, config: str = "") -> subprocess.CompletedProcess[str]:
    """Run it, by its name in this collection or by the path of its file, with an ansible.cfg; the output has everything that is shown."""
    settings = fleet.parent / "ansible.cfg"
    settings.write_text(config)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))}
    places = {"ANSIBLE_CONFIG": str(settings), "ANSIBLE_HOME": str(fleet.parent / "home")}
    environment = {**places, "ANSIBLE_COLLECTIONS_PATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]}
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", fleet, playbook if playbook.endswith(".yml") else f"federated.flower.{playbook}", *options],
        env={**kept, **environment, "HOME": str(fleet.parent)},
        cwd=fleet.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
