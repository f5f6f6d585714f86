# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is asked before, and informed after, each object is written: a plan that is made, or one that is applied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .order import Id

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One object that is written, or would be.

    Attributes:
        host: inventory name of its cluster.
        serves: inventory name of the site for whose sake it is written; the same, except for objects on a hub that are for a site.
        which: the object.
        api_version: of it.
        change: C(created), C(changed) or C(deleted).
        desired: what is applied; None for an object that is deleted.
        live: what is there; None for an object that is created.
        now: what there would be, according to the API server; None where that is not known.
        passing: whether it only helps to make what cannot be known in advance, such as the job that makes a site's keys.
    """

    host: str
    serves: str
    which: Id
    api_version: str
    change: str
    desired: Object | None = None
    live: Object | None = None
    now: Object | None = None
    passing: bool = False


class Watcher(Protocol):
    """See the module."""

    def foreseen(self, step: Step) -> None:
        """An object would be written; called in check mode."""

    def fault(self, step: Step) -> str:
        """Why an object must not be written; empty if it may."""

    def done(self, step: Step) -> None:
        """An object was written."""


_watchers: list[Watcher] = []


@contextlib.contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """While all lists of objects that this process applies are watched; None watches nothing."""
    if watcher is None:
        yield
        return
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def current() -> Watcher | None:
    """Who watches now."""
    return _watchers[-1] if _watchers else None
