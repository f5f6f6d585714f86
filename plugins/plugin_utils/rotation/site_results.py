# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of a rotation did at the sites: the results of a step are a mapping, site -> its result. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Step = Mapping[str, Mapping[str, Any]]


def results_of(steps: Sequence[Step], site: str) -> list[Mapping[str, Any]]:
    """The results of one site, the oldest first; of one that failed, those up to its failure."""
    found = []
    for step in steps:
        if site in step:
            found.append(step[site])
            if step[site].get("failed"):
                break
    return found


def sites_failed(steps: Sequence[Step]) -> list[str]:
    """Names of the sites that failed in a step."""
    return sorted({site for step in steps for site, result in step.items() if result.get("failed")})
