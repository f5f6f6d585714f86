# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What becomes of a site whose cluster leaves: the Placement, the hub, the inventory, or this world. Pure.

    the Placement no longer chooses it   OCM takes the add-on away and all that belongs to it. Its partitions are kept.
    it is detached                       its ManifestWorks go with its namespace on the hub. Its partitions are kept.
    it is not heard                      nothing: SuperNodes may be training, and the Placement tolerates it
    it is not in the inventory           its add-on and works are taken away, and it is forgotten, if that is asked for

Only who is forgotten gives his partitions back (C(supernode_forget)): all others find them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import addon_objects, clusters

STAYS = "stays"
LEFT = "left"  # OCM takes it away
DETACHED = "detached"
UNHEARD = "unheard"
UNLISTED = "unlisted"  # not in the inventory


class Departure(NamedTuple):
    """What becomes of a site.

    Attributes:
        word: one of the words above.
        remove: whether what was delivered is to be taken away by this run.
        keep: whether its partitions are kept.
        sentence: what people should know; empty for a site that stays.
    """

    word: str
    remove: bool = False
    keep: bool = True
    sentence: str = ""


def site_of(item: Mapping[str, Any]) -> str:
    """The site (inventory name) to which an add-on or ManifestWork belongs; empty when it says none."""
    return str((item["metadata"].get("annotations") or {}).get(addon_objects.SITE_NOTE) or "")


def decide(
    site: str, name: str, cluster: Mapping[str, Any] | None, *, listed: bool, chosen: bool | None, forget: bool = False
) -> Departure:
    """What becomes of one site.

    Args:
        site: its name in the inventory.
        name: of its ManagedCluster.
        cluster: it, or None.
        listed: whether the inventory has the site.
        chosen: whether a Placement has chosen the cluster; None where none decides.
        forget: whether this site is to be forgotten.
    """
    if not listed:
        if not forget:
            return Departure(
                UNLISTED,
                sentence=f"{site} is not in the inventory, but the hub still delivers to its cluster {name}: "
                f"-e flower_forget_sites={site} takes it away",
            )
        still = (
            f"; a Placement still chooses {name}: take its label away, or its add-on comes back with nothing in it"
            if chosen
            else ""
        )
        return Departure(UNLISTED, remove=True, keep=False, sentence=f"{site} is taken away{still}")
    if cluster is None or clusters.is_leaving(cluster):
        return Departure(
            DETACHED,
            sentence=f"the cluster {name} of {site} is detached from the hub; its partitions are kept for its return",
        )
    if chosen is False:
        return Departure(
            LEFT, sentence=f"no Placement chooses the cluster {name} of {site}; its partitions are kept for its return"
        )
    if clusters.variables(cluster)["ocm_availability"] == "unknown":
        return Departure(UNHEARD, sentence=f"the cluster {name} of {site} is not heard; nothing of it is taken away")
    return Departure(STAYS)


def unlisted(items: Iterable[Mapping[str, Any]], sites: Iterable[str]) -> dict[str, str]:
    """Sites that the hub delivers to although the inventory does not have them, with their clusters.

    Args:
        items: ManagedClusterAddOns and ManifestWorks of this add-on.
        sites: those of the inventory.
    """
    known = set(sites)
    return {
        site_of(item): item["metadata"]["namespace"] for item in items if site_of(item) and site_of(item) not in known
    }
