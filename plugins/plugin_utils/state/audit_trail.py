# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit trail in the hub's cluster: ConfigMaps with one line of JSON for each entry, and a head record.

The ConfigMaps are C(flower-audit-00001), C(flower-audit-00002), …. One that is full takes no more entries, which follows from its text
alone, so that all writers agree. Every write is refused if someone else wrote since (optimistic locking), so two controllers never chain two
entries to one. The head record C(flower-audit) is written afterwards; it is behind for a moment, or until the next entry if the writer
was killed in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import AUDIT_COMPONENT, AUDIT_CONFIG
from ..base.plain_data import canonical
from ..kube.api_errors import ApiError, NotFound
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from .hash_chain import Entry, Head, Line, head_of, parse, seal

NAME = AUDIT_CONFIG
COMPONENT = AUDIT_COMPONENT
#: Characters from which on a ConfigMap is full. With one more entry of at most notes.LIMIT it stays below half of the API server's 1 MiB.
FULL = 256 * 1024
_LOG = "log.jsonl"
_HEAD = "head.json"
#: HTTP codes for an object that an API server, or an admission webhook, does not accept: invalid, denied, too large.
_REFUSALS = (400, 403, 413, 422)


class Refused(ClusterError):
    """The hub does not accept some entries. C(entries): those; C(done) and C(warnings): see C(Trail.append), which added all others."""

    def __init__(self, message: str, entries: list[Mapping[str, Any]], done: list[Entry], warnings: list[str]) -> None:
        super().__init__(message)
        self.entries, self.done, self.warnings = entries, done, warnings


def log_name(number: int) -> str:
    """Name of the n-th ConfigMap with entries."""
    return f"{NAME}-{number:05}"


def continuation(lines: Sequence[str], head: Head | None) -> tuple[Head, str]:
    """What the next entry is chained to, and what is wrong with the end of the trail: a sentence, or nothing.

    Where head record and entries disagree, the new entry is chained so that the break remains visible.
    """
    entry = parse(lines[-1]) if lines else None
    last = head_of(entry) if entry else Head()
    if head is None:
        return last, "it had no head record, which is recreated" if lines else ""
    # A longer trail: its writer has not written the head record yet, or was killed before.
    if last.entries > head.entries or last == head:
        return last, ""
    return head, f"it does not end with the entry {head.entries} that its head record names"


class Trail:
    """The audit trail of one federation."""

    def __init__(self, cluster: Cluster, namespace: str, federation: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.federation = federation

    def read(self) -> tuple[list[Line], Head | None]:
        """All entries as stored, and the head record. Needs the right to C(get) config maps only."""
        head, _number = self._head(self._get(NAME))
        lines: list[Line] = []
        number = 1
        while (item := self._get(log_name(number))) is not None:
            place = f"ConfigMap {self.namespace}/{log_name(number)}"
            lines += [Line(text, f"{place}, line {count}") for count, text in enumerate(_text(item).splitlines(), 1)]
            number += 1
        return lines, head

    def append(self, contents: Sequence[Mapping[str, Any]]) -> tuple[list[Entry], list[str]]:
        """Add entries.

        Args:
            contents: the new entries, with C(id) and, if in parts, C(part). One that is among the last entries already, because a writer was
                killed or lost its connection before it knew of its success, is not added again.

        Returns:
            The entries as they are in the trail, and warnings on the trail that was found.

        Raises:
            ClusterError: there is no such namespace.
            Refused: the hub does not accept some of them.
        """
        done: list[Entry] = []
        refused: list[Mapping[str, Any]] = []
        warnings: list[str] = []
        why, number = "", 0
        what = f"the audit trail {self.namespace}/{NAME} on {self.cluster.name}"
        try:
            for content in contents:
                try:
                    entry, number, wrong = retry_on_conflict(what, partial(self._append, content))
                except ApiError as error:
                    if error.status not in _REFUSALS:
                        raise
                    refused.append(content)
                    why = error.text
                    continue
                if wrong and not done:  # in the middle of one's own entries the head record is behind, or not there yet
                    warnings.append(f"{what.removeprefix('the ')}: {wrong}; run federated.flower.audit for details")
                done.append(entry)
            if done:
                retry_on_conflict(what, lambda: self._write_head(head_of(done[-1]), number))
        except NotFound as error:
            raise ClusterError(
                f"{what} cannot be written ({error.text}): deploy the hub first, or correct flower_namespace"
            ) from error
        if refused:
            message = f"{what} rejects {len(refused)} of {len(contents)} entries ({why})"
            raise Refused(message, refused, done, warnings)
        return done, warnings

    def _append(self, content: Mapping[str, Any]) -> tuple[Entry, int, str]:
        """Add an entry to the last ConfigMap, unless it is there. Returns it, the ConfigMap's number, and what is wrong with the trail's end."""
        head, number = self._head(self._get(NAME))
        number = max(number, 1)
        item = self._get(log_name(number))
        recent = _text(item).splitlines()
        while len(text := _text(item)) >= FULL:
            number += 1
            item = self._get(log_name(number))
            recent += _text(item).splitlines()
        last, wrong = continuation(recent, head)
        for entry in map(parse, recent):
            if entry is not None and _identity(entry) == _identity(content):
                return entry, number, wrong
        entry = seal(content, last)
        text += canonical(entry) + "\n"
        # A full one is immutable: it can only be deleted.
        self._write(item, log_name(number), {_LOG: text}, **({"immutable": True} if len(text) >= FULL else {}))
        return entry, number, wrong

    def _write_head(self, last: Head, number: int) -> None:
        item = self._get(NAME)
        head, before = self._head(item)
        if head is not None and head.entries >= last.entries:
            return  # another writer has added more, and updated it
        self._write(item, NAME, {_HEAD: canonical({**last._asdict(), "log": max(number, before)})})

    @staticmethod
    def _head(item: Mapping[str, Any] | None) -> tuple[Head | None, int]:
        """The head record, and the number of the ConfigMap that was the last one. An invalid head record counts as none."""
        try:
            contents = foreign_data.read_json(((item or {}).get("data") or {})[_HEAD])
            return Head(int(contents["entries"]), str(contents["hash"])), int(contents["log"])
        except foreign_data.FAULTS:
            return None, 0

    def _write(self, item: Mapping[str, Any] | None, name: str, data: Mapping[str, str], **more: Any) -> None:
        new = config_map(self.federation, self.namespace, name, {}, application=NAME, component=COMPONENT)
        write(self.cluster, {**(item or new), "data": data, **more})

    def _get(self, name: str) -> dict[str, Any] | None:
        return self.cluster.get("v1", "ConfigMap", name, self.namespace)


def _text(item: Mapping[str, Any] | None) -> str:
    return ((item or {}).get("data") or {}).get(_LOG, "")


def _identity(content: Mapping[str, Any]) -> tuple[Any, Any]:
    return content.get("id"), content.get("part", 1)
