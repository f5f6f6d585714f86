# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What steps on sites need of a run, and what they told it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class RecordedRun:
    """A run that keeps what it is told.

    Attributes:
        notes: facts, each with the site that it is noted for.
        said: lines of progress.
        details: of unexpected errors.
        errors: site -> why it failed.
    """

    show_diff = False
    rendering = False

    def __init__(self, *, check: bool = False) -> None:
        self.check = check
        self.notes: list[tuple[str, Any]] = []
        self.said: list[str] = []
        self.details: list[str] = []
        self.errors: dict[str, str] = {}

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        self.notes += [(str(site), fact) for found in facts.values() for fact in found]

    def failed(self, site: str, message: str) -> None:
        self.errors[site] = message

    def say(self, text: str) -> None:
        self.said.append(text)

    def say_details(self, text: str) -> None:
        self.details.append(text)
