# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to rotate: what was requested, what is due, what was started and is not complete. Pure. The targets are in C(targets)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .inputs import RotationInputs
from .machine import Site
from .targets.leaf_target import UNSERVED
from .targets.target_registry import TARGETS

__all__ = [
    "ASKED",
    "CHOICES",
    "DUE",
    "KINDS",
    "UNSERVED",
    "RotationInputs",
    "decide",
    "outlook",
    "parts",
    "renewed",
    "restarts",
]

DUE = "due"
KINDS = tuple(TARGETS)
CHOICES = (DUE, *KINDS)

ASKED = "it was requested"


def decide(rotate: str, inputs: RotationInputs) -> tuple[dict[str, str], str | None]:
    """What to do, and why.

    Args:
        rotate: one of C(CHOICES).
        inputs: the state.

    Returns:
        Kind -> reason, in the order in which they are done; and why a request cannot be fulfilled, or None.
    """
    if rotate != DUE:
        target = TARGETS[rotate]
        return {rotate: target.begun(inputs) or ASKED}, target.refusal(inputs)
    found = {name: target.due(inputs) for name, target in TARGETS.items()}
    return {kind: reason for kind, reason in found.items() if reason}, None


def parts(todo: Iterable[str]) -> list[str]:
    """The parts of the role cert_rotation that some targets need, each once."""
    return list(dict.fromkeys(TARGETS[kind].part for kind in todo))


def renewed(rotate: str) -> list[str]:
    """What sites replace although it is valid; nothing where only what is due is replaced."""
    return [] if rotate == DUE else list(TARGETS[rotate].renew)


def restarts(todo: Iterable[str]) -> bool:
    """Whether the sites' part restarts SuperNodes."""
    return any(TARGETS[kind].restarts for kind in todo)


def outlook(todo: Mapping[str, str], inputs: RotationInputs, sites: Mapping[str, Site]) -> list[str]:
    """What would happen, sentences.

    Args:
        todo: see C(decide).
        inputs: the state.
        sites: what is known of each site.
    """
    words = [TARGETS[kind].outlook(reason, inputs, sites) for kind, reason in todo.items()]
    return [word for word in words if word]
