# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory must have before any connection to a cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SHOWN = 5


def group_faults(
    groups: Mapping[str, Sequence[str]], hub_group: str = "flower_hub", sites_group: str = "flower_sites"
) -> list[str]:
    """Sentences on groups that are no fleet: there is one hub, and at least one site.

    Args:
        groups: name -> hosts, as Ansible's C(groups).
    """
    hubs, sites = list(groups.get(hub_group) or []), list(groups.get(sites_group) or [])
    found = []
    if not hubs:
        found.append(
            f"the inventory group {hub_group} has no host: add the hub's cluster to it. Was the inventory set (-i), and did Ansible "
            "read all of it?"
        )
    if len(hubs) > 1:
        more = f" and {len(hubs) - _SHOWN} more" if len(hubs) > _SHOWN else ""
        found.append(
            f"the inventory group {hub_group} has {len(hubs)} hosts ({', '.join(hubs[:_SHOWN])}{more}): a federation has one hub. "
            "Create an inventory for each federation"
        )
    if not sites:
        found.append(
            f"the inventory group {sites_group} has no host: put a cluster into it for each site. To deploy the hub alone, add "
            f"--limit {hub_group}"
        )
    return found
