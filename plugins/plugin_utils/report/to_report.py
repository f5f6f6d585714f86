# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sites a play has to report after a task that worked on many: a task of every host costs a process for each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def sites_to_report(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str], variable: str) -> list[str]:
    """Those of some sites that failed, were changed, or have warnings.

    Args:
        hostvars: the variables of all hosts; empty where playbooks are only listed.
        sites: inventory names.
        variable: in which the task registered its result, which is the same for all hosts of its play. Hosts outside of a limit have none.
    """
    names = [str(site) for site in sites]
    registered: Mapping[str, Any] = next((found for name in names if (found := (hostvars.get(name) or {}).get(variable))), {})
    results = registered.get("sites") or {}
    return [name for name in names if _speaks(results.get(name) or {})]


def _speaks(result: Mapping[str, Any]) -> bool:
    return any(result.get(key) for key in ("failed", "changed", "warnings"))
