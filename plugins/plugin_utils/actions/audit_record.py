# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The changes of one task, recorded in the audit trail on the hub: when the task ends, however it ends, and every half minute before.

A task that is killed (SIGKILL) loses what it changed since the last record. In check mode nothing is recorded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.plain_data import to_json_data
from ..kube.client import Cluster
from ..state import audit_notes
from ..state.audit_trail import NAME, Refused, Trail
from .run_facts import kubernetes_user, now

_INTERVAL = 30.0  # seconds between two records of a task that works for long


class Unrecorded(ClusterError):
    """Changes that could not be recorded: C(entries)."""

    def __init__(self, error: ClusterError, entries: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(f"some changes could not be recorded in the audit trail; this result lists them as unrecorded. {error.message}")
        self.entries = list(entries)


class Recording:
    """The changes of one task.

    Args:
        run: the facts of the run of Ansible (C(run_facts)).
        hub: inventory name of the hub; empty where there is none, and nothing is recorded.
    """

    def __init__(
        self, run: Mapping[str, Any], hub: str, namespace: str, federation: str, connect: Callable[[], Cluster], say: Callable[[str], None]
    ) -> None:
        self._run, self._hub, self._namespace, self._federation = run, hub, namespace, federation
        self._connect, self._say = connect, say
        self._notes: list[audit_notes.Note] = []
        self._recorded: list[audit_notes.Note] = []
        self._refused: list[Refused] = []
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def add(self, site: str, facts: Mapping[str, Iterable[Any]]) -> None:
        """Note a change of a site, right after it; C(facts): see C(audit_notes)."""
        self._note({"site": site, "facts": dict(facts)})
        if time.monotonic() - self._last > _INTERVAL and self._lock.acquire(blocking=False):
            try:
                self._append()
            except ClusterError:
                pass  # the notes stay for the end of the task, which says so
            finally:
                self._lock.release()

    def fail(self, site: str, message: str) -> None:
        """Note why a site failed."""
        self._note({"site": site, "failed": message})

    def _note(self, note: Mapping[str, Any]) -> None:
        self._notes.append(to_json_data({"at": now(), **note}))

    def end(self) -> list[str]:
        """Record what is left, at the end of the task; returns warnings about the trail.

        Raises:
            Unrecorded: not all of it could be recorded.
        """
        with self._lock:
            try:
                warnings = self._append()
            except ClusterError as error:
                entry = self._entry(self._notes, "not known")
                raise Unrecorded(error, audit_notes.in_parts(entry) if entry else []) from error
        if self._refused:
            raise Unrecorded(self._refused[0], [entry for refused in self._refused for entry in refused.entries])
        return warnings

    def _append(self) -> list[str]:
        """Append an entry with the notes so far, unless nothing was changed; returns warnings about the trail.

        Of an entry that the hub does not accept as a whole, the other parts are recorded.

        Raises:
            ClusterError: nothing could be recorded.
        """
        self._last = time.monotonic()
        notes, warnings = self._notes[:], list[str]()
        if self._hub and not self._is_deleted(notes) and (entry := self._entry(notes, "")):
            with self._connect() as cluster:
                entry["who"]["kubernetes"] = kubernetes_user(cluster)
                try:
                    added, warnings = Trail(cluster, self._namespace, self._federation).append(audit_notes.in_parts(entry))
                except Refused as error:
                    added, warnings = error.done, error.warnings
                    self._refused.append(error)
            if added:  # the hash should be stored outside of the hub
                self._say(f"audit trail: entry {added[-1]['seq']}, hash {added[-1]['hash']}")
        del self._notes[: len(notes)]
        self._recorded += notes
        return warnings

    def _entry(self, notes: Sequence[audit_notes.Note], user: str) -> audit_notes.Content | None:
        return audit_notes.compose(notes, self._run, time=now(), kubernetes=user, recorded=bool(self._recorded))

    def _is_deleted(self, notes: Sequence[audit_notes.Note]) -> bool:
        """Whether this task deleted the trail."""
        places = (f"Namespace {self._namespace}", f"Project {self._namespace}", f"ConfigMap {self._namespace}/{NAME}")
        facts = [fact for note in (*self._recorded, *notes) if note["site"] == self._hub for fact in note.get("facts", {}).get("objects", ())]
        if not any(fact["change"] == "deleted" and fact["object"] in places for fact in facts):
            return False
        self._say(f"The audit trail was deleted together with the hub's namespace {self._namespace}.")
        return True
