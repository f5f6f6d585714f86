# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ansible-rulebook launches job templates, for messages that are signed.

The controller is a stand-in for the few calls of its API that this needs; AWX cannot run here.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.federated.flower.tests.events.rulebook import TOKEN, Rulebook, alert, notification, wait


class Controller(BaseHTTPRequestHandler):
    """Finds every job template, and records what is launched."""

    launched: list[tuple[str, dict[str, Any]]] = []

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name = parse_qs(parts.query).get("name", [""])[0]
        asks = {f"ask_{what}_on_launch": what != "labels" for what in ("inventory", "labels", "limit", "variables")}
        template = {"id": 7, "type": "job_template", "name": name, "related": {"launch": f"/launch/{name}"}, **asks}
        if parts.path.endswith("/config/"):
            self._answer(200, {"version": "24.6.1"})
        elif parts.path.endswith("/unified_job_templates/"):
            self._answer(200, {"results": [template], "next": None})
        else:  # the list of jobs that are waited for
            job = {"type": "job", "status": "successful", "created": "2026-11-23T03:00:00Z", "artifacts": {}}
            ids = parse_qs(parts.query).get("id__in", [""])[0].split(",")
            self._answer(200, {"results": [{"id": int(number), **job} for number in ids], "next": None})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.launched.append((self.path.rsplit("/", 1)[1].replace("%20", " "), body))
        number = len(self.launched)
        self._answer(201, {"id": number, "url": f"/api/v2/jobs/{number}/", "status": "pending"})

    def _answer(self, code: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Print nothing."""


@pytest.fixture
def controller() -> Iterator[str]:
    """Address of the stand-in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Controller)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_jobs_are_limited_to_the_site(controller: str, tmp_path: Path) -> None:
    environ = {"EDA_CONTROLLER_URL": controller, "EDA_CONTROLLER_TOKEN": "x", "EDA_JOB_TEMPLATE_REFRESH_DELAY": "0.2"}
    variables = {"flower_event_sites": ["site-a", "site-b"], "flower_outputs_directory": "/srv/outputs"}
    secret = "FLOWER_EVENT_HMAC_SECRET"
    with Rulebook("fleet_events_controller", tmp_path, secret=secret, environ=environ, **variables) as rulebook:

        def send(message: dict[str, Any], key: str = TOKEN) -> int:
            body = json.dumps(message).encode()
            signature = hmac.new(key.encode(), body, "sha256").hexdigest()
            return rulebook.send(body, None, **{"X-Hub-Signature-256": f"sha256={signature}"})

        assert send(notification(alert("FlowerSiteOffline", site="site-a"), alert("FlowerSiteOffline", site="site-x"))) == 200
        assert send({"type": "run-ended", "run_id": "0123"}) == 200
        assert send(notification(alert("FlowerSuperNodeOffline", site="site-b"))) == 200
        assert send({"type": "certificate-due"}, "another-key-that-is-wrong") == 401
        assert rulebook.send({"type": "certificate-due"}) == 400
        wait("four jobs", lambda: len(Controller.launched) >= 4)
    assert Controller.launched == [
        ("Flower status", {"limit": "site-a", "extra_vars": {}}),
        ("Flower site", {"limit": "site-a", "extra_vars": {}}),
        ("Flower reconcile", {"limit": "site-b", "extra_vars": {"flower_reconcile": "heal"}}),
        (
            "Flower outputs",
            {
                "limit": "flower_hub,flower_sites",
                "extra_vars": {"flower_outputs": "fetch", "flower_run_id": "0123", "flower_outputs_directory": "/srv/outputs"},
            },
        ),
    ]
