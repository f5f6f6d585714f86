# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of containers that are read again: each line once, also when a container restarts, and whatever a cluster answers."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import pod_logs
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.pod_logs import (
    Place,
    Reader,
    Wanted,
    follow,
    merge,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ApiError, Forbidden, Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster

T = "2026-11-28T19:30:0"


class Site:
    """A cluster with one container.

    Attributes:
        lines: what the container wrote.
        before: what it wrote before it restarted.
        restarts: how often it did.
        error: raised instead of a log.
    """

    def __init__(self, *lines: str) -> None:
        self.name = "site"
        self.lines, self.before, self.restarts = list(lines), list[str](), 0
        self.error: Exception | None = None

    def list(self, *_place: Any, **_options: Any) -> list[dict[str, Any]]:
        status = {"name": "supernode", "containerID": "c", "restartCount": self.restarts}
        return [{"metadata": {"name": "supernode-0", "uid": "u"}, "status": {"phase": "Running", "containerStatuses": [status]}}]

    def log(self, _namespace: str, _pod: str, _container: str, *, lines: int, since: str, previous: bool, most: int) -> bytes:
        if self.error:
            raise self.error
        assert most > 0
        found = [line for line in (self.before if previous else self.lines) if line[:19] >= since[:19]]
        return "\n".join(found[-lines:]).encode()


def reader(site: Site, **wanted: Any) -> Reader:
    place = Place("site", "flower", "flower", pod_logs.OF_SITE)
    return Reader(cast(Cluster, site), place, Wanted(**{"lines": 10, **wanted}))


def texts(one: Reader) -> list[str]:
    return [line.text for line in one.read()]


def test_a_line_is_read_once_and_the_end_of_a_former_container_first() -> None:
    site = Site(f"{T}1.1Z a", f"{T}1.2Z b")
    one = reader(site)
    assert texts(one) == ["a", "b"] and texts(one) == []
    site.lines.append(f"{T}1.3Z c")  # in the same second
    assert texts(one) == ["c"]
    site.before, site.lines, site.restarts = [*site.lines, f"{T}2Z its last words"], [f"{T}3Z again"], 1
    assert texts(one) == ["its last words", "again"]
    assert texts(one) == []


def test_times_of_any_offset_and_precision_are_compared() -> None:
    site = Site(f"{T}1Z utc", "2026-11-29T00:00:01.000000001+04:30 offset", f"{T}1.9Z last", "no time", "9999-99-99T99:99:99Z none")
    lines = reader(site).read()
    assert [line.text for line in merge([reversed(lines[:3])])] == ["utc", "offset", "last"]
    assert [(line.at, line.text) for line in lines[3:]] == [(lines[2].at, "no time"), (lines[2].at, "none")]
    assert str(lines[1]) == f"{T}1.000Z site supernode-0/supernode: offset"


def test_what_a_site_says_is_limited_and_cleaned() -> None:
    (line,) = reader(Site(f"{T}1Z \x1b[31mred\x1b[0m\u202e " + "x" * 9000)).read()
    assert line.text.startswith("red x") and len(line.text) == 2000


def test_a_log_that_cannot_be_read_is_a_note_and_one_that_may_not_an_error() -> None:
    site = Site()
    one = reader(site)
    site.error = ApiError("site", "GET", 400, {"message": "container is waiting to start"})
    assert texts(one) == [] and one.notes == ["site: pod supernode-0, container supernode: container is waiting to start"]
    site.error = Forbidden("site", "GET", 403, {"message": "pods/log is forbidden"})
    with pytest.raises(ClusterError, match="flower_rbac_auditors"):
        one.read()


def test_a_cluster_that_hangs_or_fails_keeps_no_other_one_back() -> None:
    slow, quick = Site(f"{T}1Z slow"), Site(f"{T}1Z quick")
    quick.name = "quick"
    released = threading.Event()
    slow.list = lambda *_place, **_options: released.wait(10) and []  # type: ignore[method-assign,assignment,return-value]
    shown: list[tuple[float, str]] = []
    begun = time.monotonic()

    def show(text: str) -> None:
        shown.append((time.monotonic() - begun, text))
        if "quick" in text:
            quick.error = Unreachable("quick is away")
        if "away" in text:
            released.set()

    follow([reader(slow), reader(quick)], 3, show, lambda: None)
    assert [text.rpartition(": ")[2] for _at, text in shown] == ["quick", "quick is away"]
    assert shown[1][0] < 3


def test_a_cluster_that_floods_is_left_out_in_part_and_says_so() -> None:
    """Neither its lines nor those that wait to be shown fill the memory, and another site's are shown."""
    flood, quiet = Site(f"{T}1Z first"), Site(f"{T}1Z first")
    readers = [reader(flood), reader(quiet)]
    pods = [{"metadata": {"name": f"supernode-{number}", "uid": str(number)}, "status": flood.list()[0]["status"]} for number in range(3)]
    flood.list = lambda *_place, **_options: pods  # type: ignore[method-assign,assignment,return-value]
    assert [len(one.read()) for one in readers] == [3, 1]
    flood.lines += [f"{T}2.{number:04}Z flood" for number in range(1999)]
    quiet.lines.append(f"{T}2.9Z quiet")
    assert len(readers[0].read()) == 2000 and readers[0].left_out == 3997 and not readers[0].notes
    assert readers[0].read() == [] and readers[0].left_out == 0
    flood.lines += [f"{T}3.{number:04}Z flood" for number in range(2001)]
    shown: list[str] = []
    follow(readers, 1, shown.append, lambda: None)
    assert "site: 4000 lines are not shown, because there were more than 2000 at once" in shown
    assert any("supernode-2, container supernode: lines may be missing, because it writes more than the 2000" in words for words in shown)
    assert any(words.endswith("quiet") for words in shown) and sum(words.endswith("flood") for words in shown) == 2000


def test_a_cluster_whose_first_answer_is_too_large_is_limited_when_it_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_logs, "_MOST", 60_000)
    monkeypatch.setattr(pod_logs, "_FOLLOWED", 100)
    site = Site(*(f"{T}1.{number:04}Z x" for number in range(3000)))
    site.list = lambda *_place, **_options: [{**Site().list()[0], "metadata": {"name": str(n), "uid": str(n)}} for n in range(2)]  # type: ignore[method-assign]
    one = reader(site, lines=3000)
    assert len(one.read()) == 3000 and "not read completely" in one.notes[0]
    assert len(one.read()) == 100


def test_lines_that_take_long_to_show_wait_at_their_cluster_and_delay_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_logs, "_PAUSE", 0.1)
    monkeypatch.setattr(pod_logs, "_SHOWN", 0.1)
    site, reads, checks = Site(), list[float](), list[float]()
    one = reader(site)
    one.read()

    def read() -> list[pod_logs.Line]:
        reads.append(time.monotonic())
        return [pod_logs.Line(f"{T}1", "site", "pod", "container", "text")] * 2000

    one.read = read  # type: ignore[method-assign]
    begun = time.monotonic()
    follow([one], 1, lambda _words: time.sleep(0.01), lambda: checks.append(time.monotonic()))
    assert time.monotonic() - begun < 5, "20 s for the first batch"
    assert len(reads) == 3, "one batch is shown, one waits, and one was read"
    assert len(checks) > 5


def test_an_ended_playbook_shows_no_more_lines() -> None:
    one = reader(Site(*(f"{T}1.{number:04}Z x" for number in range(500))), lines=1000)
    shown: list[str] = []

    def require_playbook() -> None:
        if shown:
            raise ClusterError("it has ended")

    def show(words: str) -> None:
        shown.append(words)
        time.sleep(0.01)

    with pytest.raises(ClusterError, match="it has ended"):
        follow([one], 10, show, require_playbook)
    assert len(shown) < 100
