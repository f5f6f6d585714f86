# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit trail in the hub cluster: ConfigMaps with several entries each, and a head record.

Entries are stored in C(flower-audit-00001), C(flower-audit-00002), …, one line of JSON each. A ConfigMap that is full takes no
more, and that follows from what is in it (C(pack)), so all writers agree; since every write is refused when someone else wrote since
(optimistic locking), two controllers can never chain two entries to one. The head record C(flower-audit) is written afterwards;
it is behind for a moment, or until the next entry when the writer died in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base import foreign_data
from ..base.digests import canonical
from ..base.errors import ClusterError
from ..base.object_names import AUDIT_COMPONENT, AUDIT_CONFIG
from ..kube.api_errors import ApiError, NotFound
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from . import pack
from .hash_chain import Entry, Head, Line

NAME = AUDIT_CONFIG
COMPONENT = AUDIT_COMPONENT
_LOG = "log.jsonl"
_HEAD = "head.json"
#: HTTP codes for an object that an API server, or an admission webhook, does not accept: invalid, denied, too large.
_REFUSALS = (400, 403, 413, 422)


class AuditError(ClusterError):
    """The audit trail cannot be written. The text has the reason and the remedy."""


class Refused(AuditError):
    """The hub does not accept some entries. C(entries): those; C(done) and C(warnings): see C(Trail.append), which added all others."""

    def __init__(self, message: str, entries: list[Mapping[str, Any]], done: list[Entry], warnings: list[str]) -> None:
        super().__init__(message)
        self.entries, self.done, self.warnings = entries, done, warnings


def log_name(number: int) -> str:
    """Name of the n-th ConfigMap with entries."""
    return f"{NAME}-{number:05}"


@dataclass
class _Log:
    """A ConfigMap with entries; C(item) is None while there is none."""

    number: int
    item: dict[str, Any] | None

    @property
    def text(self) -> str:
        return ((self.item or {}).get("data") or {}).get(_LOG, "")


class Trail:
    """The audit trail of one federation.

    Args:
        cluster: a connection to the hub.
        namespace: the SuperLink's namespace.
        federation: the federation's name, for labels.
    """

    def __init__(self, cluster: Cluster, namespace: str, federation: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.federation = federation

    def read(self) -> tuple[list[Line], Head | None]:
        """All entries as stored, and the head record. Needs the right to C(get) config maps only."""
        head, _number = self._head(self._get(NAME))
        lines: list[Line] = []
        number = 1
        while (log := self._log(number)).item is not None:
            place = f"ConfigMap {self.namespace}/{log_name(number)}"
            lines += [Line(text, f"{place}, line {count}") for count, text in enumerate(log.text.splitlines(), 1)]
            number += 1
        return lines, head

    def append(self, contents: Sequence[Mapping[str, Any]]) -> tuple[list[Entry], list[str]]:
        """Add entries.

        Args:
            contents: the new entries, with C(id) and, if in parts, C(part). What is among the last entries already, because a writer
                died or lost its connection before it knew of its success, is not added again.

        Returns:
            The new entries, and warnings on the trail that was found.

        Raises:
            AuditError: the namespace is gone.
            Refused: the hub does not accept some of them.
        """
        left = list(contents)
        refused: list[Mapping[str, Any]] = []
        why = ""
        done: list[Entry] = []
        warnings: dict[str, None] = {}
        what = f"the audit trail {self.namespace}/{NAME} on {self.cluster.name}"
        try:
            number = 0
            while left:
                try:
                    number = retry_on_conflict(what, partial(self._append, left, done, warnings, alone=bool(why)))
                except ApiError as error:
                    if error.status not in _REFUSALS:
                        raise
                    if why:  # then it was about this entry alone
                        refused.append(left.pop(0))
                    why = f"{what} does not take {len(refused)} of {len(contents)} entries ({error.text})"
            if done:
                retry_on_conflict(what, lambda: self._write_head(done[-1], number))
        except NotFound as error:
            raise AuditError(
                f"{what} cannot be written ({error.text}): deploy the hub first, or correct flower_namespace"
            ) from error
        if refused:
            raise Refused(why, refused, done, list(warnings))
        return done, list(warnings)

    def _append(self, left: list[Mapping[str, Any]], done: list[Entry], warnings: dict[str, None], *, alone: bool) -> int:
        """Add as many entries as fit into the current ConfigMap, or one C(alone); C(left) and C(done) are updated. Returns its number."""
        head, number = self._head(self._get(NAME))
        before, log = _Log(0, None), self._log(max(number, 1))
        while pack.full(log.text):
            before, log = log, self._log(log.number + 1)
        recent = [*before.text.splitlines(), *log.text.splitlines()]
        seq, prev, wrong = pack.end(recent, head)
        if wrong and not done:  # in the middle of one's own entries the head record is behind, or not there yet
            warnings[
                f"audit trail {self.namespace}/{NAME} on {self.cluster.name}: {wrong}; run federated.flower.audit for details"
            ] = None
        piece = pack.fill(log.text, left[:1] if alone else left, pack.identities(recent), seq, prev)
        if piece.made:
            item = log.item or config_map(
                self.federation, self.namespace, log_name(log.number), {}, application=NAME, component=COMPONENT
            )
            # Then it is immutable: it can only be deleted.
            frozen = {"immutable": True} if pack.full(piece.text) else {}
            write(self.cluster, {**item, "data": {_LOG: piece.text}, **frozen})
        del left[: piece.taken]
        done += piece.made
        return log.number

    def _write_head(self, last: Entry, number: int) -> None:
        item = self._get(NAME)
        head, before = self._head(item)
        if head is not None and head.entries >= last["seq"]:
            return  # another writer has added more, and updated it
        contents = {"entries": last["seq"], "hash": last["hash"], "log": max(number, before)}
        if item is None:
            item = config_map(self.federation, self.namespace, NAME, {}, application=NAME, component=COMPONENT)
        write(self.cluster, {**item, "data": {_HEAD: canonical(contents)}})

    @staticmethod
    def _head(item: Mapping[str, Any] | None) -> tuple[Head | None, int]:
        """The head record, and the number of the ConfigMap that was the last one. An invalid head record counts as none."""
        try:
            contents = foreign_data.read_json(((item or {}).get("data") or {})[_HEAD])
            return Head(int(contents["entries"]), str(contents["hash"])), int(contents["log"])
        except foreign_data.FAULTS:
            return None, 0

    def _log(self, number: int) -> _Log:
        return _Log(number, self._get(log_name(number)))

    def _get(self, name: str) -> dict[str, Any] | None:
        return self.cluster.get("v1", "ConfigMap", name, self.namespace)
