# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions of a run changed, as notes that are combined to the content of an audit entry.

A I(note) is a dict: C(run) (facts of the run of Ansible, see C(actions/run_facts.py)), C(at) (time, ISO 8601, UTC), C(check) (bool),
C(site) (inventory name) and either C(facts) (kind of fact -> list, for example C({"objects": [{"change": "created", "object":
"Secret flower/superexec"}], "keys": [{"change": "registered", "fingerprint": "SHA256:…"}]})) or C(failed) (a message). The kind C(diff), entries of
Ansible's, is of check mode alone (C(plan_text)).

Ansible creates that folder for every run, for the user alone, and removes it at the end; all forks of the run share it. A run
that was killed leaves its folder behind, and with it its journal, which a later run finds. It contains only public facts.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..base.errors import ClusterError
from ..base.plain_data import canonical, digest

Note = dict[str, Any]
Content = dict[str, Any]

#: Bytes of one entry. A larger one is split into parts, so that a ConfigMap never comes near its limit of 1 MiB.
LIMIT = 200 * 1024
#: Bytes of one fact. Of a longer one the beginnings of its values are recorded, with their SHA-256.
FACT = 4 * 1024
#: Characters of a failed host's message.
MESSAGE = 300
#: Characters of a value that is shortened; each may be twelve bytes of JSON.
SHORT = 300
_CHANGES = ("created", "changed", "deleted")

FILE = "federated.flower.audit.jsonl"
#: Ansible names the folder of a run after its process id and random letters (C(tmppath) in ansible.config.manager).
_FOLDERS = "ansible-local-*"


def of_objects(objects: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The note of the C(objects) of a result: those that changed.

    Args:
        objects: dicts with C(kind), C(namespace), C(name), C(change) and, where there is one, C(sha256). Others are passed over.
    """
    noted = []
    for one in objects:
        if one.get("change") in _CHANGES:
            place = f"{one['namespace']}/" if one.get("namespace") else ""
            entry = {"change": one["change"], "object": f"{one['kind']} {place}{one['name']}"}
            noted.append(entry | ({"sha256": one["sha256"]} if one.get("sha256") else {}))
    return noted


def compose(
    notes: Sequence[Note], *, time: str, kubernetes: str, failed: Iterable[str] = (), interrupted: bool = False
) -> Content | None:
    """Combine the notes of one run; None when nothing was changed.

    Args:
        notes: the notes, all of the same run.
        time: the time of the entry.
        kubernetes: the Kubernetes user, or a text with the reason why it is not known.
        failed: the hosts that failed. Notes of other failures do not count: they may have been rescued.
        interrupted: whether the run ended before it could record this itself.
    """
    real = [note for note in notes if not note["check"]]
    sites = _sites(real)
    if not sites:
        return None
    run = real[0]["run"]
    reported: Content = {
        "id": digest([[note["run"]["pid"], note["at"], note["site"]] for note in real])[:16],
        "time": time,
        "playbook": run["playbook"],
        "options": run["options"],
        "who": {**run["who"], "kubernetes": kubernetes},
        "sites": sites,
    }
    words = {note["site"]: note["failed"][:MESSAGE] for note in real if "failed" in note}
    broken = {host: words.get(host, "") for host in sorted(words if interrupted else failed)}
    if broken:
        reported["failed"] = broken
    if interrupted:
        reported["interrupted"] = real[-1]["at"]
    return reported


def has_entry(notes: Iterable[Note]) -> bool:
    """Whether a run in check mode would have changed something."""
    return any(note.get("facts") for note in notes if note["check"])


def deleted(notes: Iterable[Note], site: str, objects: Iterable[str]) -> bool:
    """Whether the last change of one of the objects of a site is its deletion."""
    last: dict[str, str] = {}
    for note in notes:
        if note["site"] == site and not note["check"]:
            last.update((one["object"], one["change"]) for one in note.get("facts", {}).get("objects", ()))
    return any(last.get(one) == "deleted" for one in objects)


def _sites(notes: Iterable[Note]) -> dict[str, dict[str, list[Any]]]:
    sites: dict[str, dict[str, list[Any]]] = {}
    seen: set[str] = set()
    for note in notes:
        for kind, found in note.get("facts", {}).items():
            for fact in found:
                same = canonical([note["site"], kind, fact])
                if same not in seen:
                    seen.add(same)
                    sites.setdefault(note["site"], {}).setdefault(kind, []).append(_bounded(fact))
    return sites


def _bounded(fact: Any) -> Any:
    """The fact, shortened if it is longer than C(FACT): what a site's cluster says may be of any length."""
    if len(canonical(fact)) <= FACT:
        return fact
    if isinstance(fact, Mapping):
        cut = {name: value if len(canonical(value)) <= FACT // 8 else _shortened(value) for name, value in fact.items()}
        if len(canonical(cut)) <= FACT:
            return cut
    return _shortened(fact)


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return f"{text[:SHORT]}… ({len(text)} characters, SHA-256 {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()})"


def in_parts(content: Content, limit: int = LIMIT) -> list[Content]:
    """Divide an entry, so that each part stays below C(limit). Parts have C(part) (1, 2, …) and C(parts)."""
    common = {name: value for name, value in content.items() if name not in ("failed", "sites")}
    room = limit - len(canonical(common))
    parts: list[Content] = []
    used = room
    for piece in _pieces(content):
        size = len(canonical(piece))
        if used + size > room:
            parts.append({"sites": {}})
            used = 0
        used += size
        _merge(parts[-1], piece)
    if len(parts) == 1:
        return [content]
    return [{**common, **part, "part": number, "parts": len(parts)} for number, part in enumerate(parts, 1)]


def _pieces(content: Content) -> Iterator[Content]:
    """An entry with each failed host, and an entry with each fact."""
    for host, message in content.get("failed", {}).items():
        yield {"failed": {host: message}}
    for site, facts in sorted(content["sites"].items()):
        for kind, found in facts.items():
            yield from ({"sites": {site: {kind: [fact]}}} for fact in found)


def _merge(content: Content, piece: Content) -> None:
    for name, value in piece.items():
        if isinstance(value, dict):
            _merge(content.setdefault(name, {}), value)
        elif isinstance(value, list):
            content.setdefault(name, []).extend(value)
        else:
            content[name] = value


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
