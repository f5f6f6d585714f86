# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tasks of a run tell each other about a plan: files in Ansible's own temporary folder of the run, which is removed at its end.

While a plan is made or compared, the actions in check mode keep what they would change. Then the plan is put in force, and each object is
checked against it before it is written. What is kept has no secret values.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..apply.watching import Step
from ..base.placeholders import UNKNOWN_ADDRESS
from ..base.plain import plain
from ..plan import planned_object
from ..plan.plan_permission import Allowed

# Set by the playbooks plan.yml and site.yml alone: what would be changed is kept; a plan must be in force.
KEEP, NEEDED = "__plan_keep", "__plan_needed"

_FOUND, _STAND_INS, _FORCE, _DONE = (f"federated.flower.plan-{name}" for name in ("found.jsonl", "stand-ins.jsonl", "force.json", "done.jsonl"))
_HOST = UNKNOWN_ADDRESS.partition(":")[0]


def _add(path: Path, record: Any) -> None:
    """Add a record. Safe for concurrent forks and threads."""
    line = json.dumps(plain(record)) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line.encode("ascii"))


def _records(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] if path.exists() else []


class _Lines:
    """The records of a file: of a plan of many sites it gets thousands, so each is read once. Safe for concurrent threads."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0
        self._lock = threading.Lock()

    def added(self, keep: Callable[[Any], None]) -> None:
        """Give each record that was added since the last call to C(keep)."""
        with self._lock:
            if not self._path.exists():
                return
            with self._path.open("rb") as file:
                file.seek(self._at)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]  # another process may be writing the rest
            self._at += len(whole)
            for line in whole.splitlines():
                keep(json.loads(line))


def keep_facts(folder: Path, site: str, facts: Mapping[str, Iterable[Any]]) -> None:
    """Keep what else would be changed at a site, in the words of the audit trail."""
    _add(folder / _FOUND, {"site": site, "facts": facts})


def keep_stand_in(folder: Path, text: str) -> None:
    """Keep a text that stands in for something that does not exist yet."""
    _add(folder / _STAND_INS, text.strip())


def found(folder: Path) -> list[dict[str, Any]]:
    """What was kept, for C(plan_document.compose)."""
    return _records(folder / _FOUND)


def put_in_force(folder: Path, content: Mapping[str, Any]) -> None:
    """Let only what is planned be written from now on."""
    for name in (_DONE, _FORCE):
        (folder / name).unlink(missing_ok=True)
    _add(folder / _FORCE, content)


def in_force(folder: Path) -> dict[str, Any] | None:
    """The plan that is in force; None for none."""
    return next(iter(_records(folder / _FORCE)), None)


def done(folder: Path) -> list[dict[str, Any]]:
    """What was written while the plan is in force, in order."""
    return _records(folder / _DONE)


class Recorder:
    """Keeps what would be written.

    Args:
        folder: the temporary folder of the run.
        apart: whether these objects are shown only, since what joins two Skupper sites is made step by step.
    """

    def __init__(self, folder: Path, *, apart: bool = False) -> None:
        self.folder, self.apart = folder, apart
        self._stand_ins = planned_object.StandIns([_HOST])
        self._kept = _Lines(folder / _STAND_INS)

    def foreseen(self, step: Step) -> None:
        """See C(watching.Watcher)."""
        if step.passing:
            return
        self._kept.added(self._stand_ins.add)
        entry = planned_object.entry(step, self._stand_ins)
        name = planned_object.name_of_digest(step)
        if entry["later"] and name:
            keep_stand_in(self.folder, name)  # what refers to it is not known either
        _add(self.folder / _FOUND, {"entry": {**entry, "apart": True} if self.apart else entry})

    def fault(self, step: Step) -> str:
        """See C(watching.Watcher). Nothing is written in check mode."""
        return ""

    def done(self, step: Step) -> None:
        """See C(watching.Watcher)."""


class Guard:
    """Lets only what is planned be written.

    Args:
        folder: the temporary folder of the run.
        content: the plan; None where one is needed and none is in force.
    """

    def __init__(self, folder: Path, content: Mapping[str, Any] | None) -> None:
        self.folder = folder
        self.allowed = None if content is None else Allowed(content)
        self._done: set[tuple[str, str]] = set()
        self._written = _Lines(folder / _DONE)

    def foreseen(self, step: Step) -> None:
        """See C(watching.Watcher). What is only looked at is not written."""

    def fault(self, step: Step) -> str:
        """See C(watching.Watcher)."""
        if self.allowed is None:
            return "no plan was compared with the fleet in this run (--skip-tags always?), so nothing is written"
        self._written.added(lambda one: self._done.add((one["cluster"], one["object"])))
        return self.allowed.fault(step, self._done)

    def done(self, step: Step) -> None:
        """See C(watching.Watcher)."""
        noted = self.allowed.written(step) if self.allowed else None
        if noted is not None:
            _add(self.folder / _DONE, noted)
