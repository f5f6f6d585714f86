# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check finds. All checks, of variables and of clusters, return this. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .errors import ClusterError


class Problem(NamedTuple):
    """Why nothing is changed, or what to expect of a change.

    Attributes:
        message: what is wrong, where, and the remedy. A message about a variable begins with the host, the variable and the value.
        refuses: whether nothing may be changed because of it; otherwise it is a warning.
    """

    message: str
    refuses: bool = True

    def __str__(self) -> str:
        return self.message


def warning(message: str) -> Problem:
    """A problem that prevents nothing."""
    return Problem(message, refuses=False)


def messages(found: Iterable[Problem]) -> list[str]:
    """The message of each problem, once."""
    return list(dict.fromkeys(one.message for one in found))


def require(found: Iterable[Problem], where: str = "") -> list[str]:
    """Stop where a problem refuses; returns the warnings.

    Args:
        found: what checks found.
        where: stands before the messages, such as the name of a cluster.

    Raises:
        ClusterError: all problems that refuse, one a line.
    """
    found = list(found)
    lead = f"{where}: " if where else ""
    if refused := messages(one for one in found if one.refuses):
        raise ClusterError("\n".join(lead + (one if one.endswith(".") else f"{one}.") for one in refused))
    return [lead + one for one in messages(found)]
