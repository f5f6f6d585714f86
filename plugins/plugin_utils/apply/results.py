# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a list of objects that was applied. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from .mask import Mask

Object = dict[str, Any]


@dataclass
class Result:
    """The result. Contains no Secret data."""

    changed: bool = False
    msg: str = ""
    #: {apiVersion, kind, namespace, name, change} per object; change: created, changed, unchanged, deleted, failed;
    #: sha256 (of what was applied) where it was created or changed and is not a Secret
    objects: list[dict[str, str]] = field(default_factory=list)
    #: entries for Ansible's --diff, only of objects that differ; empty unless asked for
    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: {apiVersion, kind, namespace, name, category, message} per object that failed
    errors: list[dict[str, str]] = field(default_factory=list)
    requests: int = 0
    _live: list[Object] = field(default_factory=list, repr=False)
    _mask: Mask = field(default_factory=Mask, repr=False)

    @property
    def applied(self) -> list[Object]:
        """The listed objects as they are live now, with status; without managedFields, secrets masked."""
        return [_shown(self._mask, obj) for obj in self._live]

    def as_dict(self, *, applied: bool = False) -> dict[str, Any]:
        """For the result of an action plugin.

        C(applied) is omitted unless requested: a result passes through Ansible's only parent process, which takes
        some 20 ms of CPU to copy and clean the live objects of one host, as long as the whole pass in its fork.
        """
        optional = ("errors", "diff", "warnings")
        reported = {
            key: value
            for key, value in vars(self).items()
            if not key.startswith("_") and (value or key not in optional)
        }
        return reported | {"applied": self.applied} if applied else reported


class ApplyFailed(ClusterError):
    """One or more objects failed. C(result) has the outcome of each."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def merged(results: Iterable[Result]) -> dict[str, Any]:
    """What became of all objects, in the format of C(apply), without C(msg)."""
    listed = list(results)
    return {
        "changed": any(one.changed for one in listed),
        "objects": [entry for one in listed for entry in one.objects],
        "diff": [entry for one in listed for entry in one.diff],
        "warnings": [word for one in listed for word in one.warnings],
        "requests": sum(one.requests for one in listed),
    }


def _shown(mask: Mask, obj: Mapping[str, Any]) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return mask.shown({**obj, "metadata": meta})
