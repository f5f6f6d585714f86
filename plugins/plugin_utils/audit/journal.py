# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions of a run changed, until it is recorded in the audit trail: a file in Ansible's own temporary folder.

Ansible creates that folder for every run, for the user alone, and removes it at the end; all forks of the run share it. A run
that was killed leaves its folder behind, and with it its journal, which a later run finds. It contains only public facts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ..base.errors import ClusterError
from .notes import Note

FILE = "federated.flower.audit.jsonl"
#: Ansible names the folder of a run after its process id and random letters (C(tmppath) in ansible.config.manager).
_FOLDERS = "ansible-local-*"


class Journal:
    """The notes of one run.

    Args:
        folder: the temporary folder of that run.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def note(self, note: Note) -> None:
        """Add a note. Safe for concurrent forks."""
        line = json.dumps(note, separators=(",", ":")) + "\n"
        try:
            with self._locked("ab") as file:
                file.write(line.encode("ascii"))
        except OSError as error:
            raise ClusterError(
                f"changes cannot be stored for the audit trail in {self.path}: {error.strerror}. "
                "Free disk space or set ANSIBLE_LOCAL_TEMP, and run again"
            ) from error

    def read(self) -> list[Note]:
        """The notes so far."""
        return _parse(self.path.read_bytes()) if self.path.exists() else []

    @contextlib.contextmanager
    def taken(self) -> Iterator[list[Note]]:
        """The notes; the journal is empty when the block succeeds. It is locked meanwhile."""
        if not self.path.exists():
            yield []
            return
        with self._locked("rb+") as file:
            yield _parse(file.read())
            file.truncate(0)  # not unlinked: a fork that waits for the lock would write into a file without a name

    @contextlib.contextmanager
    def _locked(self, mode: str) -> Iterator[IO[bytes]]:
        descriptor = os.open(
            self.path, os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT | os.O_APPEND if "a" in mode else 0), 0o600
        )
        with os.fdopen(descriptor, mode) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _parse(text: bytes) -> list[Note]:
    """The notes of a journal. The last line of a run that was killed may be truncated; it ends without a newline."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith(b"\n")]


def abandoned(folder: Path, host: str, place: Mapping[str, Any]) -> list[Journal]:
    """Journals of other runs on the same federation whose process is gone.

    Args:
        folder: the temporary folder of the present run.
        host: name of this machine. A folder may be shared with others, whose processes cannot be seen.
        place: the federation's place according to the variables (C(ClusterAction.place)).
    """
    found = []
    for path in sorted(folder.parent.glob(f"{_FOLDERS}/{FILE}")):
        if path.parent == folder:
            continue
        try:
            if not _is_ours(path):
                continue
            notes = Journal(path.parent).read()
        except FileNotFoundError:  # that run has just finished, and its folder was removed
            continue
        run = notes[0]["run"] if notes else None
        if run and run["who"]["host"] == host and run["place"] == place and not _alive(run["pid"]):
            found.append(Journal(path.parent))
    return found


def _is_ours(path: Path) -> bool:
    """Whether the user of this run wrote the file. In a folder that all may write to (ANSIBLE_LOCAL_TEMP), others may leave one."""
    facts = path.lstat()
    return stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
