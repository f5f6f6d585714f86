# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which end of the network a namespace is, the hub's or a site's. Pure.

Skupper serves one Site for a namespace, and both ends have ApplySets of the same names. So what one end creates or removes in the
namespace of the other deletes the other's Site, Connector and links. The records of the sets show whose they are: only the hub
has a Connector, and Certificates and AccessGrants for links; only a site has a Listener and a Link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply import applyset as sets
from ..base.object_names import SUPERLINK
from ..manifests import skupper
from ..marks.parts import HUB, SITE

#: The sets whose records show the end, in the order in which they count.
RECORDS = (skupper.applyset(skupper.LISTENER), skupper.applyset(skupper.LINK), SUPERLINK)

_GROUP = skupper.API.partition("/")[0]
_OF_HUB = {(_GROUP, kind) for kind in ("Connector", "Certificate", "AccessGrant")}
_OF_SITE = {(_GROUP, kind) for kind in ("Listener", "Link", "AccessToken")}


def of(records: Iterable[Mapping[str, Any] | None], *, own: bool = False) -> str:
    """Whose the namespace is: C(HUB), C(SITE), or empty while nothing shows it.

    Args:
        records: the live records of C(RECORDS), as far as they exist. The first one that shows something counts.
        own: whether the namespace has a Site of the one who asks. Then the SuperLink beside it, which may be a standby, shows nothing.
    """
    for record in records:
        kinds, _namespaces = sets.noted(record)
        if kinds & _OF_HUB:
            return HUB
        if kinds & _OF_SITE:
            return SITE
        if record is not None and not own and record["metadata"]["name"] == sets.parent_name(SUPERLINK):
            return HUB
    return ""


def fault(namespace: str, end: str, *, hub: bool, removing: bool = False) -> str:
    """Why one end must not touch a namespace, a sentence without its full stop; empty if it may.

    Args:
        namespace: its name.
        end: whose it is, what C(of) returned.
        hub: whether the one who asks is the hub.
        removing: whether its parts of the network are to be removed.
    """
    if hub and end == SITE:
        return (
            f"namespace {namespace} contains the Listener or the link of a site, and Skupper serves one Site for a namespace: the hub's "
            "would replace that of the site. Remove the site from the network first (federated.flower.skupper_leave), or select another "
            "namespace for the hub (flower_namespace)"
        )
    if hub or end != HUB:
        return ""
    if removing:
        return (
            f"its namespace {namespace} is the hub's own: the Site, the Connector and the certificates of links there are the hub's, and "
            "all sites need them. Nothing was removed. With flower_connectivity: direct, this host has nothing to remove: the next run of "
            "federated.flower.site restores the hub's Site, should that of this host be in its place"
        )
    return (
        f"its namespace {namespace} is the hub's own, and Skupper serves one Site for a namespace: that of this host would replace the "
        "hub's, and all links would be lost. SuperNodes beside the hub need none: set flower_connectivity to direct for this host, or "
        "select another namespace for it (flower_namespace)"
    )
