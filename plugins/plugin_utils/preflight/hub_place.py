# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the SuperLink is, by the hub's own variables, whichever host asks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NAMESPACE, FEDERATION = "namespace", "federation"
DEFAULT = "flower"  # where no variable is set

# Part -> the variable of the role superlink, and the one that roles share. They may not contradict each other.
VARIABLES = {
    NAMESPACE: ("superlink_namespace", "flower_namespace"),
    FEDERATION: ("superlink_federation", "flower_federation"),
}
# Part -> the hosts for which the shared variable is set.
_HOSTS = {NAMESPACE: "this host or its group", FEDERATION: "the hub and all sites"}


def place(read: Callable[[str], Any], part: str) -> str:
    """Its namespace, or the name of its federation.

    Args:
        read: the value of a variable of the hub, templated; None for one that is not set. Asked only for what decides.
        part: C(NAMESPACE) or C(FEDERATION).
    """
    return next((str(value) for name in VARIABLES[part] if (value := read(name))), DEFAULT)


def faults(host: str, values: Mapping[str, Any]) -> list[str]:
    """A sentence for each variable of the hub's role that says something else than the one that it shares with other roles.

    Args:
        host: inventory name of the hub.
        values: its C(VARIABLES), templated; None for one that is not set.
    """
    found = []
    for part, (own, shared) in VARIABLES.items():
        given, known = values.get(own), values.get(shared) or DEFAULT
        if given is not None and str(given) != str(known):
            found.append(
                f"{host}: {own}: {given!r} is not what {shared} says, {known!r}, which other roles read. "
                f"Set {shared} to {given!r} for {_HOSTS[part]}, and remove {own}."
            )
    return found
