# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Conditions as Skupper sets them (§1): reason is Ready, Pending or Error, and ``Ready`` sums up the others."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from .kube import Object

CONFIGURED, RUNNING, RESOLVED, READY = "Configured", "Running", "Resolved", "Ready"
MATCHED, OPERATIONAL, PROCESSED, REDEEMED = "Matched", "Operational", "Processed", "Redeemed"
# §1: what must be true for Ready. A Site's needs depend on its link access; see site.py.
REQUIRED = {
    "Link": (CONFIGURED, OPERATIONAL),
    "Listener": (CONFIGURED, MATCHED),
    "Connector": (CONFIGURED, MATCHED),
    "MultiKeyListener": (CONFIGURED, OPERATIONAL),
    "AttachedConnector": (CONFIGURED,),
    "AttachedConnectorBinding": (CONFIGURED, MATCHED),
    "AccessGrant": (PROCESSED, RESOLVED),
    "RouterAccess": (CONFIGURED, RESOLVED),
    "SecuredAccess": (CONFIGURED, RESOLVED),
}


@dataclass(frozen=True)
class State:
    """Status, reason and message of a condition."""

    status: bool
    reason: str
    message: str


OK = State(True, "Ready", "OK")


def error(text: str) -> State:
    """False, with an error."""
    return State(False, "Error", text)


def pending(text: str) -> State:
    """False, for now."""
    return State(False, "Pending", text)


def ok_or(text: str | None) -> State:
    """True, or False with the error ``text``."""
    return OK if text is None else error(text)


def now() -> str:
    """The time as the API writes it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Status:
    """A copy of an object's status to work on; ``changed`` tells whether it is to be written."""

    def __init__(self, item: Object) -> None:
        self.item = item
        self.value: Object = copy.deepcopy(item.get("status") or {})
        self._before = copy.deepcopy(self.value)

    @property
    def changed(self) -> bool:
        """Whether anything differs from what the object says."""
        return self.value != self._before

    def is_true(self, kind: str) -> bool:
        """Whether a condition is there and True."""
        return any(one["type"] == kind and one["status"] == "True" for one in self.value.get("conditions", []))

    def has(self, kind: str) -> bool:
        """Whether a condition was ever set."""
        return any(one["type"] == kind for one in self.value.get("conditions", []))

    def condition(self, kind: str, state: State) -> None:
        """Set one condition; its time moves only when its status does."""
        new = {
            "type": kind,
            "status": "True" if state.status else "False",
            "reason": state.reason,
            "message": state.message,
            "observedGeneration": self.item["metadata"].get("generation", 0),
        }
        conditions = self.value.setdefault("conditions", [])
        for one in conditions:
            if one["type"] == kind:
                moved = one["status"] != new["status"]
                one.update(new, lastTransitionTime=now() if moved else one["lastTransitionTime"])
                return
        conditions.append({**new, "lastTransitionTime": now()})

    def set(self, kind: str, state: State, required: Sequence[str] | None = None) -> None:
        """Set one condition, then what sums up: status, message and the condition Ready.

        §1: MultiKeyListener has the first two but no condition Ready.
        """
        self.condition(kind, state)
        total = self._total(REQUIRED[self.item["kind"]] if required is None else required)
        self.value["status"], self.value["message"] = total.reason, total.message
        if self.item["kind"] != "MultiKeyListener":
            self.condition(READY, total)

    def _total(self, required: Sequence[str]) -> State:
        have = {one["type"]: one for one in self.value["conditions"]}
        for kind in required:
            if kind not in have:
                return pending(f"Not {kind}")
            if have[kind]["status"] == "False":
                return State(False, have[kind]["reason"], have[kind]["message"])
        return OK

    def field(self, name: str, value: object) -> None:
        """Set a field of the status; empty ones are left out, as Go does."""
        if value in (None, "", 0, False, [], {}):
            self.value.pop(name, None)
        else:
            self.value[name] = value
