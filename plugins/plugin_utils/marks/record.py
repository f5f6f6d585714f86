# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose deployment is in a namespace: annotations of the ApplySet's record there. Pure.

The labels of objects name the federation, and two hubs may have federations of one name. So the record of the set C(supernode)
stores the hub, by the identity in its ledger, and the site, by its name in the inventory. A deployment that is older
than this has no such annotations, and gets them from the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .proof import annotations_of

_PREFIX = "federated.flower/owner-"
FEDERATION, HUB, SITE = f"{_PREFIX}federation", f"{_PREFIX}hub", f"{_PREFIX}site"


def notes(federation: str, site: str = "", hub: str = "") -> dict[str, str]:
    """The annotations of a record. Of a hub only the federation; C(hub), a site's hub, may be empty while it is not known."""
    return {name: text for name, text in ((FEDERATION, federation), (HUB, hub), (SITE, site)) if text}


def kept(live: Mapping[str, Any] | None) -> dict[str, str]:
    """The annotations of a live record."""
    return {name: text for name, text in annotations_of(live).items() if name.startswith(_PREFIX)}


def fault(live: Mapping[str, Any] | None, wanted: Mapping[str, str]) -> str:
    """Why a namespace with this record is not to be used: a sentence; empty if it may be.

    Args:
        live: the ConfigMap that records the ApplySet; None when there is none.
        wanted: what C(notes) returned. Of a hub that is not known (no C(HUB) in it) nothing is compared.
    """
    there = kept(live)
    if not there or live is None:
        return ""
    meta = live["metadata"]
    what = "SuperLink" if meta["name"].endswith("superlink") else "SuperNodes"
    holds = f"namespace {meta['namespace']} contains the {what} of"
    was, now = there.get(FEDERATION), wanted.get(FEDERATION)
    if now and was and was != now:
        return f"{holds} another federation, {was}. {_way_out()}"
    if wanted.get(HUB) and there.get(HUB) and there[HUB] != wanted[HUB]:
        return f"{holds} the federation {was} of another hub, as its site {there.get(SITE)}. {_way_out()}"
    if wanted.get(SITE) and there.get(SITE) and there[SITE] != wanted[SITE]:
        return (
            f"{holds} {there[SITE]}, another site of this federation. Two hosts of the inventory need two namespaces "
            "(supernode_namespace) where they are one cluster. If the host was renamed: federated.flower.site with --limit to the hub and "
            f"-e flower_forget_sites={there[SITE]} frees the old name, then {_claim()}"
        )
    return ""


def _way_out() -> str:
    return (
        "Choose another namespace (flower_namespace), or remove that deployment with the inventory that created it "
        f"(federated.flower.teardown). If its hub is lost: {_claim()}"
    )


def _claim() -> str:
    return "-e flower_claim_sites=true takes the namespace over."
