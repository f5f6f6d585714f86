# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Logs of the containers of a federation, of several clusters at the same time, in the order of time."""

from __future__ import annotations

import datetime
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned, without_controls
from ..base.names import CLIENTAPP, METRICS
from ..base.object_names import SERVERAPP, SUPERLINK, SUPERNODE
from ..flower.run_log import clean_log
from ..kube import pod_health
from ..kube.api_errors import ApiError, Forbidden, NotFound
from ..kube.client import Cluster
from ..manifests.site_jobs import KEY_APPLICATION, PULL_APPLICATION
from ..marks import proof
from ..sites.site import DATA_FAULTS, unexpected

#: Values of the label app.kubernetes.io/name of pods at the hub, and at a site.
OF_HUB = (SUPERLINK, SERVERAPP, METRICS)
OF_SITE = (SUPERNODE, CLIENTAPP, KEY_APPLICATION, PULL_APPLICATION)

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: (.*))?")
_LONGEST = 2000  # characters of a line
_FILTERED = 10_000  # lines of a container that are read to find those that match
_FOLLOWED = 2000  # lines of a container that are read in a second, and of a cluster that are shown
_MOST = 16 * 1024 * 1024  # bytes of the logs of a cluster
_SECONDS = 60  # for the logs of a cluster
_PAUSE, _SHOWN = 1.0, 0.2  # seconds between two questions to a cluster, and until lines are shown
_NOTES = 20  # of a cluster


@dataclass(frozen=True)
class Place:
    """Where pods are: the inventory host of their cluster, their namespace, and the names in their labels."""

    host: str
    namespace: str
    federation: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """Which lines are wanted.

    Attributes:
        lines: how many of each container at most, the last ones.
        since: no older ones; None for any.
        until: no younger ones; None for any.
        grep: those in which it is found; None for all.
        previous: of the containers before their last restart.
    """

    lines: int
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    grep: re.Pattern[str] | None = None
    previous: bool = False


class Line(NamedTuple):
    """A line of a log. C(at): UTC with nanoseconds, so that its text sorts by time."""

    at: str
    host: str
    pod: str
    container: str
    text: str

    def __str__(self) -> str:
        return f"{self.at[:23]}Z {self.host} {self.pod}/{self.container}: {self.text}"


class Reader:
    """The logs of one place. Each C(read) returns the lines that the one before it did not.

    Args:
        cluster: a connection for this reader alone.

    Attributes:
        notes: sentences on containers whose log is not read.
        left_out: how many lines the last C(read) did not return, because there were too many to follow.
    """

    def __init__(self, cluster: Cluster, place: Place, wanted: Wanted) -> None:
        self.cluster, self.place, self.wanted = cluster, place, wanted
        self.notes: list[str] = []
        self.left_out = 0
        self._last: dict[tuple[str, str], tuple[str, int]] = {}  # uid of a pod and container -> time of the last line, restarts then
        self._since, self._until = (_as_text(moment) for moment in (wanted.since, wanted.until))
        self._begun = False

    def read(self) -> list[Line]:
        """New lines of all containers, those of a container in their order.

        Raises:
            ClusterError: the pods cannot be listed, or their logs may not be read.
        """
        place, found = self.place, list[Line]()
        self._left, self.left_out, deadline = _MOST, 0, time.monotonic() + _SECONDS
        for pod in self.cluster.list("v1", "Pod", place.namespace, labels=proof.pods_query(place.federation, *place.names)):
            started = _started(pod)
            if len(started) < len(_statuses(pod)) or not started:
                self._note(f"pod {pod_health.describe(pod)}")
            for name, restarts in started.items():
                if self._left <= 0 or time.monotonic() > deadline:
                    self._note(f"its logs are not read completely, because they take more than {_MOST >> 20} MiB or {_SECONDS} s: ask for fewer lines")
                    self._begun = True
                    return found
                found += self._container(pod["metadata"], name, restarts)
                if self._begun and len(found) > _FOLLOWED:
                    self.left_out += len(found) - _FOLLOWED
                    found = merge([found])[-_FOLLOWED:]
        self._begun = True
        return found

    def _container(self, pod: Mapping[str, Any], name: str, restarts: int) -> list[Line]:
        key = (str(pod["uid"]), name)
        last, before = self._last.get(key, ("", restarts))
        found = []
        if self.wanted.previous:
            found = self._log(pod["name"], name, last, previous=True) if restarts else []
        else:
            if restarts > before:  # the end of what the container wrote before it restarted
                found += self._log(pod["name"], name, last, previous=True)
            found += self._log(pod["name"], name, found[-1].at if found else last)
        self._last[key] = (found[-1].at if found else last, restarts)
        shown = [line for line in found if self._is_wanted(line)]
        return shown if self._begun else shown[-self.wanted.lines :]

    def _log(self, pod: str, container: str, after: str, *, previous: bool = False) -> list[Line]:
        wanted, since = self.wanted, max(after, self._since)
        lines = _FOLLOWED if self._begun else _FILTERED if wanted.grep or self._until else wanted.lines
        try:
            answer = self.cluster.log(
                self.place.namespace, pod, container, lines=lines, since=f"{since[:19]}Z" if since else "", previous=previous, most=min(self._left, 1 << 20)
            )
        except Forbidden as error:
            raise ClusterError(f"{error.message} Auditors have this right: flower_rbac_auditors of federated.flower.rbac") from error
        except NotFound:
            return []  # the pod was deleted meanwhile
        except ApiError as error:
            self._note(f"pod {pod}, container {container}: {error.text}")
            return []
        self._left -= len(answer)
        found = list(self._parsed(answer, pod, container))
        if self._begun and after and len(found) >= lines and found[0].at > after:
            self._note(f"pod {pod}, container {container}: lines may be missing, because it writes more than the {lines} that are read at once")
        return [line for line in found if line.at > after]

    def _parsed(self, answer: bytes, pod: str, container: str) -> Iterable[Line]:
        at = ""
        for raw in answer.decode("utf-8", "replace").split("\n"):
            found = _TIME.match(raw)
            at, text = (_normal(found) or at, found[4] or "") if found else (at, raw)
            if at and (found or text):
                (clean,) = clean_log(text)
                yield Line(at, self.place.host, pod, container, without_controls(clean, _LONGEST))

    def _is_wanted(self, line: Line) -> bool:
        is_late = line.at >= self._since and (not self._until or line.at <= self._until)
        return is_late and (self.wanted.grep is None or bool(self.wanted.grep.search(line.text)))

    def _note(self, words: str) -> None:
        note = f"{self.place.host}: {cleaned(words)}"
        if note not in self.notes and len(self.notes) < _NOTES:
            self.notes.append(note)


def merge(found: Iterable[Iterable[Line]]) -> list[Line]:
    """All lines in the order of time; those of one container at one time stay in their order."""
    return sorted((line for lines in found for line in lines), key=lambda line: line.at)


def follow(readers: Sequence[Reader], seconds: float, show: Callable[[str], None], require_playbook: Callable[[], None]) -> None:
    """Show new lines for some seconds. Each cluster is asked every second; one that does not answer keeps no other one back.

    Of each cluster, one batch of lines waits until it is shown: one that writes faster than that fills no memory, and its oldest lines are left out.

    Args:
        show: shows a line, or a note.
        require_playbook: raises an error when the playbook has ended.
    """
    end = threading.Event()

    def ask(reader: Reader, batches: queue.Queue[tuple[list[Line], list[str]]]) -> None:
        shown: set[str] = set(reader.notes)
        while not end.is_set():
            begun = time.monotonic()
            lines, notes, more = list[Line](), list[str](), list[str]()
            try:
                lines = reader.read()
                if reader.left_out:
                    more.append(f"{reader.place.host}: {reader.left_out} lines are not shown, because there were more than {_FOLLOWED} at once")
            except ClusterError as error:
                notes.append(f"{reader.place.host}: {error.message}")
            except DATA_FAULTS as error:
                notes.append(f"{reader.place.host}: {unexpected(error)}")
            notes = [note for note in [*notes, *reader.notes] if note not in shown]
            shown.update(notes)
            while not end.is_set():
                try:
                    batches.put((lines, more + notes), timeout=_SHOWN)
                    break
                except queue.Full:
                    pass
            end.wait(max(_PAUSE - (time.monotonic() - begun), 0.1))

    found = [queue.Queue[tuple[list[Line], list[str]]](1) for _reader in readers]
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor(max(1, len(readers))) as pool:
        try:
            asked = [pool.submit(ask, reader, batches) for reader, batches in zip(readers, found)]
            while time.monotonic() < deadline and not all(one.done() for one in asked):
                time.sleep(min(_SHOWN, max(deadline - time.monotonic(), 0)))
                require_playbook()
                checked = time.monotonic()
                new = [batches.get() for batches in found if not batches.empty()]
                lines, notes = (lines for lines, _notes in new), (note for _lines, notes in new for note in notes)
                for words in chain(map(str, merge(lines)), notes):
                    if (now := time.monotonic()) >= deadline:
                        break
                    if now - checked >= _SHOWN:
                        require_playbook()
                        checked = now
                    show(words)
        finally:
            end.set()


def _statuses(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _started(pod: Mapping[str, Any]) -> dict[str, int]:
    """Container -> how often it has restarted, of those that have ever run."""
    return {str(one["name"]): int(one.get("restartCount") or 0) for one in _statuses(pod) if one.get("containerID") or one.get("lastState")}


def _normal(found: re.Match[str]) -> str:
    """A time in UTC with nanoseconds; empty where it is none."""
    try:
        moment = datetime.datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00")).astimezone(datetime.timezone.utc)
    except (ValueError, OverflowError):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{(found[2] or '').ljust(9, '0')}"


def _as_text(moment: datetime.datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.%f}000"
