# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a report finds: problems, and warnings of what will be one or may be one; each with its remedy. Pure."""

from __future__ import annotations

from typing import NamedTuple

PROBLEM, WARNING = "problem", "warning"


class Finding(NamedTuple):
    """One of them.

    Attributes:
        level: C(PROBLEM) or C(WARNING).
        cluster: inventory name of the hub or of the site that it is about; empty for the whole federation.
        text: a sentence, which may contain what clusters and apps say.
        remedy: what to do, a sentence.
    """

    level: str
    cluster: str
    text: str
    remedy: str

    def facts(self) -> dict[str, str]:
        """It as a dict."""
        return self._asdict()


class Findings:
    """Findings in the order in which they were made.

    Args:
        hub: inventory name of the hub.
    """

    def __init__(self, hub: str) -> None:
        self.hub = hub
        self.found: list[Finding] = []
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def problem(self, cluster: str, text: str, remedy: str, with_remedy: bool = False) -> None:
        """Add one that makes the federation unhealthy.

        Args:
            cluster: what it is about.
            text: the sentence.
            remedy: what to do.
            with_remedy: whether the sentence of C(problems) has the remedy, too.
        """
        self.found.append(Finding(PROBLEM, cluster, text, remedy))
        self.problems.append(f"{text}; {remedy}" if with_remedy else text)

    def warning(self, cluster: str, text: str, remedy: str) -> None:
        """Add one that does not."""
        self.found.append(Finding(WARNING, cluster, text, remedy))
        self.warnings.append(f"{text}. {remedy}")

    def facts(self) -> list[dict[str, str]]:
        """All of them, problems first."""
        return [one.facts() for level in (PROBLEM, WARNING) for one in self.found if one.level == level]
