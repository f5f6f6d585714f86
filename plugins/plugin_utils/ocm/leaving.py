# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a site whose cluster leaves the Placement, the hub or the inventory, and whether the hub still delivers to one that is to be forgotten. Pure.

    the Placement no longer selects it   OCM deletes the add-on and everything that belongs to it. Its partitions are kept.
    it is detached                       its ManifestWorks are deleted with its namespace on the hub. Its partitions are kept.
    it does not report                   nothing: SuperNodes may be training, and the Placement tolerates it
    it is not in the inventory           its add-on and works are deleted, and it is forgotten, if requested
    it has moved to another cluster      what is left in the former one is deleted, if requested

Only forgotten sites release their partitions (C(supernode_forget)): all others keep them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..base.labels import query
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..state import forgetting
from . import addon_objects, hub_reader

_OCM = "ocm"  # value of flower_delivery


def site_of(item: Mapping[str, Any]) -> str:
    """The site (inventory name) to which an add-on or ManifestWork belongs; empty when it has none."""
    return str((item["metadata"].get("annotations") or {}).get(addon_objects.SITE_NOTE) or "")


def unlisted_sentence(site: str, name: str, *, chosen: bool, forget: bool) -> str:
    """Message about a site that is not in the inventory.

    Args:
        site: its former name in the inventory.
        name: of its ManagedCluster.
        chosen: whether a Placement may have selected its cluster.
        forget: whether it is forgotten in this run.
    """
    if not forget:
        return (
            f"{site} is not in the inventory, but the hub still delivers to its cluster {name}: "
            f"-e flower_forget_sites={site} deletes it there"
        )
    return f"{site} is removed" + (f"; a Placement still selects {name}: remove its label, or an empty add-on is created again" if chosen else "")


def unlisted(items: Iterable[Mapping[str, Any]], sites: Iterable[str]) -> dict[str, str]:
    """Sites that the hub delivers to although the inventory does not have them, with their clusters.

    Args:
        items: ManagedClusterAddOns and ManifestWorks of this add-on.
        sites: those of the inventory.
    """
    known = {"", *sites}
    return {site_of(item): item["metadata"]["namespace"] for item in items if site_of(item) not in known}


def moved(items: Iterable[Mapping[str, Any]], places: Mapping[str, str]) -> list[tuple[str, str]]:
    """Sites of the inventory and clusters to which the hub still delivers for them, although they are in another cluster now.

    Args:
        items: ManagedClusterAddOns and ManifestWorks of this add-on.
        places: site -> its ManagedCluster, by the inventory; empty for one that is not behind the hub any more.
    """
    found = {(site_of(item), str(item["metadata"]["namespace"])) for item in items if not item["metadata"].get("deletionTimestamp")}
    return sorted((site, cluster) for site, cluster in found if site in places and places[site] != cluster)


def moved_sentence(site: str, cluster: str, place: str) -> str:
    """Warning about what is left of a site in its former cluster."""
    now = f"in the cluster {place} now" if place else "not delivered through Open Cluster Management any more"
    return (
        f"{site} is {now}, but the hub still delivers to its former cluster {cluster}. When the site runs in its new place: "
        f"federated.flower.site -e {forgetting.FORMER}={cluster} deletes the remaining objects there. If it has not moved, correct ocm_name or "
        "flower_delivery of the host"
    )


def doubtful(sites: Iterable[str], known: Mapping[str, Mapping[str, Any]], unreadable: Collection[str]) -> list[str]:
    """Those of some sites to which the hub may deliver, as far as the ledger knows: where ManifestWorks cannot be read, that decides.

    A site that was delivered in another way has that in its record. One without a record has no keys that could be retired too early.

    Args:
        known: records of the ledger, by site.
        unreadable: sites whose record cannot be read.
    """
    return [site for site in sites if site in unreadable or (site in known and known[site].get("delivery") in (None, "", _OCM))]


def doubt(sites: Iterable[str], why: str) -> str:
    """The fault of C(doubtful) sites, with the remedy."""
    return (
        f"whether Open Cluster Management still delivers to {', '.join(sites)} is unknown, so nothing is forgotten: {why}. Run with an identity "
        "that may read and delete ManifestWorks and ManagedClusterAddOns on the hub: federated.flower.rbac writes these rights only while a "
        "site of the inventory is behind Open Cluster Management"
    )


def forgetting_errors(
    hub: Cluster, federation: str, sites: Collection[str], known: Mapping[str, Mapping[str, Any]], unreadable: Collection[str]
) -> dict[str, str]:
    """Site -> why it cannot be forgotten yet.

    Args:
        sites: those to forget.
        known: records of the ledger, by site.
        unreadable: sites whose record cannot be read.
    """
    try:
        items, _faults = hub_reader.works(hub, query(addon_objects.addon_labels(federation)))
    except NotServed:
        return {}
    except Forbidden as error:
        return {site: doubt([site], error.message) for site in doubtful(sites, known, unreadable)}
    found: dict[str, set[str]] = {}
    for item in items:
        if site_of(item) in sites and not item["metadata"].get("deletionTimestamp"):
            found.setdefault(site_of(item), set()).add(str(item["metadata"]["namespace"]))
    return {
        site: f"the hub still delivers to its cluster {', '.join(sorted(clusters))}, and its SuperNodes would restart forever. "
        "federated.flower.site ends the delivery before it forgets the site, if --limit, where there is one, has the hub, and "
        "--skip-tags does not name ocm"
        for site, clusters in found.items()
    }
