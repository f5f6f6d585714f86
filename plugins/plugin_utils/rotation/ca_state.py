# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The federation's CA during a rotation: its Secret is the state. Pure.

The Secret's entries are those of C(authority); two annotations have the times. From them alone follows the rest to
do, so the next control node can resume after one that dies.

    idle       tls
    adding     tls  next             started            every site starts to trust both, the old one signs
    switched   tls        previous   started, switched  the new one signs, every site still trusts both
    dropping   tls                   started, switched  the old one is no longer trusted; its traces are removed

Every change of it is one function here and one write of one object.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..pki import certificates
from .authority import Authority

STARTED = "federated.flower/rotation-started"
SWITCHED_AT = "federated.flower/rotation-switched"

PHASES = IDLE, ADDING, SWITCHED, DROPPING = "idle", "adding", "switched", "dropping"


class StateError(ValueError):
    """The Secret has an invalid state, or a step came too late. The text has the fault and the remedy."""


@dataclass(frozen=True)
class State:
    """The state in the Secret.

    Attributes:
        authority: the CAs. The key of the current one is empty when it is lost.
        started: when the rotation started, or None.
        switched: when the new CA started to sign, or None.
    """

    authority: Authority
    started: datetime.datetime | None = None
    switched: datetime.datetime | None = None

    @property
    def phase(self) -> str:
        """One of C(PHASES)."""
        if self.authority.next:
            return ADDING
        if self.authority.previous:
            return SWITCHED
        return DROPPING if self.started else IDLE

    @property
    def bundle(self) -> str:
        """Everything that sites must trust, PEM."""
        return self.authority.bundle

    def notes(self) -> dict[str, str | None]:
        """Annotations of the Secret; None for one to remove."""
        times = {STARTED: self.started, SWITCHED_AT: self.switched}
        return {name: time.isoformat() if time else None for name, time in times.items()}


def read(entries: Mapping[str, str], notes: Mapping[str, str]) -> State:
    """Read the Secret.

    Args:
        entries: its decoded entries.
        notes: its annotations.

    Raises:
        StateError: it has no CA, half a CA, or two rotations at once.
    """
    if bool(entries.get("next.crt")) != bool(entries.get("next.key")):
        raise StateError("it has only a part of the next CA: remove next.crt and next.key from it, then run again")
    if entries.get("next.crt") and entries.get("previous.crt"):
        raise StateError(
            "it has a next CA and a previous one: remove next.crt and next.key from it to complete the first rotation, "
            "then run again"
        )
    authority = Authority.read(entries)
    if authority is None:
        raise StateError("it has no tls.crt and tls.key: restore it from a backup")
    return State(authority, _time(notes, STARTED), _time(notes, SWITCHED_AT))


def begin(state: State, new: certificates.Issued, now: datetime.datetime) -> State:
    """Idle -> adding: the CA that will sign."""
    _require(state, IDLE)
    return State(replace(state.authority, next=new), now)


def switch(state: State, now: datetime.datetime) -> State:
    """Adding -> switched: the next CA signs from now on. The key of the old one is kept no longer."""
    _require(state, ADDING)
    authority = state.authority
    if authority.next is None:
        raise ValueError("there is no CA to switch to")
    return replace(state, authority=Authority(authority.next, None, authority.current.certificate), switched=now)


def drop(state: State) -> State:
    """Switched -> dropping: the old CA is trusted no longer."""
    _require(state, SWITCHED)
    return replace(state, authority=replace(state.authority, previous=""))


def finish(state: State) -> State:
    """Dropping -> idle."""
    _require(state, DROPPING)
    return State(state.authority)


def _require(state: State, wanted: str) -> None:
    if state.phase != wanted:
        raise StateError(f"the rotation is {state.phase}, not {wanted}: another control node changed it first; run again")


def _time(notes: Mapping[str, str], name: str) -> datetime.datetime | None:
    text = notes.get(name)
    if not text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise StateError(f"its annotation {name} is not a timestamp with a time zone: {text!r}")
    return found
