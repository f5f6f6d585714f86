# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The Git repository from which the controller takes playbooks and inventory, and the web server that has it and gets notifications.

The repository is C(examples/awx-project) with the inventory of the test and the app C(examples/quickstart). Git reads it by its plain ("dumb")
protocol, for which files are enough.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).parents[2]


class Project:
    """A repository with one branch, which can be changed."""

    def __init__(self, folder: Path) -> None:
        self.work, self.bare = folder / "work", folder / "served" / "project.git"
        shutil.copytree(ROOT / "examples" / "awx-project", self.work)
        shutil.rmtree(self.work / "inventory")
        shutil.rmtree(self.work / "collections")  # the execution environment has it
        shutil.copytree(
            ROOT / "examples" / "quickstart",
            self.work / "apps" / "quickstart",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        self.bare.parent.mkdir()
        self._git(self.work, "init", "--quiet", "--initial-branch=main")
        self._git(self.bare.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))

    @staticmethod
    def _git(folder: Path, *words: str) -> None:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    def commit(self, inventory: dict[str, Any]) -> None:
        """Make this the inventory, beside the groups of the example."""
        folder = self.work / "inventory"
        folder.mkdir(exist_ok=True)
        (folder / "01-fleet.json").write_text(json.dumps(inventory, indent=1))
        shutil.copy(ROOT / "examples" / "awx-project" / "inventory" / "99-constructed.yml", folder)
        self._git(self.work, "add", "--all")
        self._git(self.work, "commit", "--quiet", "--message", "The fleet")
        self._git(self.work, "push", "--quiet", str(self.bare), "main")
        self._git(self.bare, "update-server-info")


class _Handler(SimpleHTTPRequestHandler):
    """Files for GET, a list for POST."""

    def __init__(self, received: list[dict[str, Any]], *arguments: Any, **options: Any) -> None:
        self.received = received
        super().__init__(*arguments, **options)

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def serving(folder: Path, address: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve a folder at an address of this machine; yields the URL, and the list of what was posted to it."""
    received: list[dict[str, Any]] = []
    with ThreadingHTTPServer((address, 0), partial(_Handler, received, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{address}:{server.server_port}", received
        finally:
            server.shutdown()
