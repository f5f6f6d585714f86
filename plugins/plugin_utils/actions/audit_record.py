# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The changes of one task, recorded in the audit trail on the hub: when the task ends, however it ends, and every half minute before.

A task that is killed (SIGKILL) loses what it changed since the last record. In check mode nothing is recorded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..base.errors import ClusterError
from ..base.plain_data import to_json_data
from ..kube.client import Cluster
from ..state import audit_notes
from ..state.audit_trail import NAME, NoTrail, Refused, Trail
from ..state.hash_chain import Entry
from ..state.hub_lease import Lease
from .run_facts import kubernetes_user, now, run_facts

_INTERVAL = 30.0  # seconds between two records of a task that works for long


class Task(Protocol):
    """An action, as far as it is needed here (C(cluster_action.ClusterAction)); its attributes and methods are described there."""

    MUST_RECORD: bool
    task_vars: dict[str, Any]
    lease: Lease | None

    @property
    def check(self) -> bool:
        """Check mode."""

    def hub_host(self) -> str:
        """Inventory name of the hub."""

    def of_hub(self, option: str, hub: str = "") -> str:
        """Where the SuperLink is."""

    def hub_connection(self, hub: str) -> Cluster:
        """A connection of its own to the hub."""

    def loses_hub(self) -> bool:
        """Whether it needs the lease and there is none: the hub is given up, or has no namespace."""

    def named(self, error: ClusterError) -> str:
        """The message of an error."""

    def say(self, text: str) -> None:
        """Show a text."""


class Recording:
    """The changes of one task.

    Args:
        task: the action.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._run = run_facts(task.task_vars)
        # What is evaluated with templates, which are not for several threads.
        self._hub = task.hub_host()
        self._namespace, self._federation = (task.of_hub(option, self._hub) for option in ("namespace", "federation"))
        self._notes: list[audit_notes.Note] = []
        self._all: list[audit_notes.Note] = []
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

    def end(self) -> dict[str, Any]:
        """Record what is left, at the end of the task. Returns what its result says of that: C(unrecorded) entries, C(warnings), C(failed), C(msg)."""
        with self._lock:
            try:
                warnings = self._append()
            except ClusterError as error:
                return self._unrecorded(error)
        return {"warnings": warnings} if warnings else {}

    def _append(self) -> list[str]:
        """Append an entry with the notes so far, unless nothing was changed; returns warnings about the trail.

        Raises:
            Refused: the hub does not accept a part of it. The other parts are recorded.
            ClusterError: nothing could be recorded.
        """
        self._last = time.monotonic()
        notes = self._notes[:]
        if self._hub and not self._is_deleted(notes) and (entry := self._entry(notes, "")):
            with self._task.hub_connection(self._hub) as cluster:
                entry["who"]["kubernetes"] = kubernetes_user(cluster)
                trail = Trail(cluster, self._namespace, self._federation)
                try:
                    added, warnings = trail.append(audit_notes.in_parts(entry))
                except Refused as error:
                    if error.done:
                        self._report(error.done)
                    del self._notes[: len(notes)]  # to try again is of no use
                    raise
            self._report(added)
        else:
            warnings = []
        del self._notes[: len(notes)]
        self._all += notes
        return warnings

    def _entry(self, notes: Sequence[audit_notes.Note], user: str) -> audit_notes.Content | None:
        return audit_notes.compose(notes, self._run, time=now(), kubernetes=user)

    def _is_deleted(self, notes: Sequence[audit_notes.Note]) -> bool:
        """Whether this task deleted the trail."""
        places = [f"Namespace {self._namespace}", f"Project {self._namespace}", f"ConfigMap {self._namespace}/{NAME}"]
        gone = audit_notes.deleted([*self._all, *notes], self._hub, places)
        if gone:
            self._task.say(f"The audit trail was deleted together with the hub's namespace {self._namespace}.")
        return gone

    def _report(self, added: Sequence[Entry]) -> None:
        """Show the hash of the last entry, which should be stored outside of the hub."""
        self._task.say(f"audit trail: {added[-1]['seq']} entries, the hash of the last one is {added[-1]['hash']}")

    def _unrecorded(self, error: ClusterError) -> dict[str, Any]:
        """The part of a result that has what could not be recorded, and why."""
        entry = self._entry(self._notes, "not known")
        lost = list(error.entries) if isinstance(error, Refused) else audit_notes.in_parts(entry) if entry else []
        text = f"not all changes could be recorded in the audit trail; those are in this result (unrecorded). {self._task.named(error)}"
        required = self._task.MUST_RECORD and not self._task.loses_hub() and (self._task.lease is not None or not isinstance(error, NoTrail))
        return {"unrecorded": lost, **({"failed": True, "msg": text} if required else {"warnings": [text]})}
