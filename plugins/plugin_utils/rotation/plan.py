# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be rotated: what was asked for, what is due, what was begun and is not over. Pure. The targets are in C(targets)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .looked import Looked
from .machine import Site
from .targets.leaf_target import UNSERVED
from .targets.target_registry import TARGETS

__all__ = [
    "ASKED",
    "CHOICES",
    "DUE",
    "KINDS",
    "UNSERVED",
    "Looked",
    "decide",
    "outlook",
    "parts",
    "renewed",
    "restarts",
]

DUE = "due"
KINDS = tuple(TARGETS)
CHOICES = (DUE, *KINDS)

ASKED = "it was asked for"


def decide(rotate: str, looked: Looked) -> tuple[dict[str, str], str | None]:
    """What is to be done, and why.

    Args:
        rotate: one of C(CHOICES).
        looked: what there is.

    Returns:
        Kind -> reason, in the order in which they are done; and why what was asked for cannot be done, or None.
    """
    if rotate != DUE:
        target = TARGETS[rotate]
        return {rotate: target.begun(looked) or ASKED}, target.refusal(looked)
    found = {name: target.due(looked) for name, target in TARGETS.items()}
    return {kind: reason for kind, reason in found.items() if reason}, None


def parts(todo: Iterable[str]) -> list[str]:
    """The parts of the role cert_rotation that some targets need, each once."""
    return list(dict.fromkeys(TARGETS[kind].part for kind in todo))


def renewed(rotate: str) -> list[str]:
    """What sites replace although it is good; nothing where only what is due is replaced."""
    return [] if rotate == DUE else list(TARGETS[rotate].renew)


def restarts(todo: Iterable[str]) -> bool:
    """Whether the sites' part restarts SuperNodes."""
    return any(TARGETS[kind].restarts for kind in todo)


def outlook(todo: Mapping[str, str], looked: Looked, sites: Mapping[str, Site]) -> list[str]:
    """What would happen, sentences.

    Args:
        todo: see C(decide).
        looked: what there is.
        sites: what is known of each site.
    """
    words = [TARGETS[kind].outlook(reason, looked, sites) for kind, reason in todo.items()]
    return [word for word in words if word]
