# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The API of an AWX, as one of its users calls it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

#: The states in which a job does not change any more.
ENDED = {"successful", "failed", "error", "canceled"}
POLL = 2  # seconds between two looks

Json = dict[str, Any]


class Refused(Exception):
    """The controller answered with an error. C(code) is the HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def wait(what: str, ready: Callable[[], Any], seconds: float) -> Any:
    """Poll until I(ready) returns something true, and return that.

    Raises:
        TimeoutError: with what it returned last
    """
    end = time.monotonic() + seconds
    while True:
        seen = ready()
        if seen:
            return seen
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s, last seen: {seen!r}")
        time.sleep(POLL)


@dataclass(frozen=True)
class Controller:
    """A controller and one of its users."""

    host: str
    username: str
    password: str = field(repr=False)

    def call(self, method: str, path: str, body: Json | None = None) -> Any:
        """Call the API; I(path) is what follows C(/api/v2/), or a path that an answer has given.

        Raises:
            Refused: the answer is an error
        """
        url = self.host.rstrip("/") + (path if path.startswith("/") else f"/api/v2/{path}")
        login = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        request = Request(
            url,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {login}", "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
                structured = answer.headers.get_content_type() == "application/json"
        except HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")[:2000]) from None
        return json.loads(text) if structured else text

    def get(self, path: str, **query: str) -> Any:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, **body: Any) -> Any:
        return self.call("POST", path, body)

    def named(self, kind: str, name: str) -> Json:
        """The one object of a kind with this name that the user can see.

        Raises:
            LookupError: there is none, or several
        """
        found = self.get(f"{kind}/", name=name)["results"]
        if len(found) != 1:
            raise LookupError(f"{self.username} sees {len(found)} {kind} with the name {name}")
        return found[0]

    def names(self, kind: str, **query: str) -> set[str]:
        return {one["name"] for one in self.get(f"{kind}/", page_size="200", **query)["results"]}

    def launch(self, name: str, kind: str = "job_templates", **body: Any) -> Json:
        """Launch a template by its name; body as of C(POST …/launch/)."""
        return self.post(f"{kind}/{self.named(kind, name)['id']}/launch/", **body)

    def text(self, job: Json) -> str:
        return self.get(f"{job['url']}stdout/", format="txt")

    def ended(self, job: Json, seconds: float = 600) -> Json:
        """Wait for the end of a job, whatever it is."""

        def look() -> Json | None:
            now: Json = self.get(job["url"])
            # The output is complete only when the controller has stored all events.
            return now if now["status"] in ENDED and now.get("event_processing_finished", True) else None

        return wait(f"{job['name']} {job['id']}", look, seconds)

    def done(self, job: Json, status: str = "successful", seconds: float = 600) -> Json:
        """Wait for the end of a job that has to end like this."""
        end = self.ended(job, seconds)
        shown = self.text(end) if "workflow_nodes" not in end["related"] else self.nodes(end)
        assert end["status"] == status, f"{end['name']} {end['id']}: {end['status']} {end['result_traceback']}\n{shown}"
        print(f"{end['name']}: {end['status']} after {end['elapsed']:.0f} s")
        return end

    def nodes(self, job: Json) -> dict[str, Json]:
        """The jobs that a workflow job has begun, by the identifiers of its nodes."""
        rows = self.get(f"workflow_jobs/{job['id']}/workflow_nodes/", page_size="200")["results"]
        return {row["identifier"]: row["summary_fields"]["job"] for row in rows if row["job"]}
