# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why active runs forbid that a hub which serves is stopped. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..rotation import conditions


@dataclass(frozen=True)
class Verdict:
    """What the runs of a hub mean for a failover.

    Attributes:
        fault: why it is refused: a sentence; empty if it is not.
        words: what it does to runs, for the plan; empty for nothing.
    """

    fault: str = ""
    words: str = ""


def verdict(hub: str, found: Sequence[Mapping[str, Any]] | str, *, abandon: bool) -> Verdict:
    """Judge the runs of a hub whose SuperLink runs.

    Args:
        hub: its inventory name.
        found: its runs, as C(flwr list) has them; or why they cannot be listed.
        abandon: whether active runs may fail.
    """
    if isinstance(found, str):
        if abandon:
            return Verdict(words=f"abandon the active runs of {hub}, which are not known ({found})")
        return Verdict(
            f"whether {hub} has active runs, which would fail, is not known ({found}): correct this, add -e flower_failover_abandon_runs=true, or, "
            "if nothing works there any more, -e flower_failover_hub_lost=true"
        )
    active = [str(run["run-id"]) for run in conditions.active(found)]
    if not active:
        return Verdict()
    if abandon:
        return Verdict(words=f"abandon {len(active)} active runs ({', '.join(active)}), which fail")
    return Verdict(
        f"{hub} serves, and has active runs ({', '.join(active)}), which would fail: wait for their end, or add "
        "-e flower_failover_abandon_runs=true"
    )
