# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the hub, the regions and the sites are in the picture of a fleet, and what each looks like. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

#: States of a site, the worst first, and how people read them.
WORDS = {
    "unreachable": "not reachable",
    "offline": "SuperNodes are offline",
    "unready": "online, and pods are not ready",
    "unknown": "not known whether SuperNodes are online",
    "denied": "denied",
    "absent": "nothing is deployed",
    "ok": "online",
}
#: A form for each state, so that nothing depends on colours: cross, triangle, bar, diamond, ring, circle. Paths around 0, 0.
SHAPES = {
    "unreachable": "M-7-4 -4-7 0-3 4-7 7-4 3 0 7 4 4 7 0 3 -4 7 -7 4 -3 0z",
    "offline": "M0-7 7 6 -7 6z",
    "unready": "M-7-7H7L-7 7H7z",
    "unknown": "M-7-3H7V3H-7z",
    "denied": "M0-7 7 0 0 7 -7 0z",
    "absent": "M-7-7H7V7H-7zM-4-4V4H4V-4z",
    "ok": "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z",
}
_HUB_X, _LEFT, _GAP, _HEAD = 90, 230, 14, 28
_LABELLED = 40  # sites of a region whose names are written out
_WIDE, _NARROW, _TALL, _LOW = 108, 20, 42, 20  # room of a mark with and without its name


def state_of(site: Mapping[str, Any]) -> str:
    """One of C(WORDS)."""
    if not site["reachable"]:
        return "unreachable"
    if site["access"]:
        return "denied"
    # Of a site that gives no access nothing is known but what is registered.
    deployed = any(site.get("bundle") or pool["desired"] is not None for pool in site["pools"])
    if not site["asked"] and (deployed or site.get("bundle")):
        return "unknown"
    if not deployed:
        return "absent"
    if any(pool["online"] < pool["wanted"] for pool in site["pools"]):
        return "offline"
    return "unready" if any(one["ready"] < one["desired"] for one in [*site["pools"], *site["clientapps"]] if one["desired"]) else "ok"


def access_of(site: Mapping[str, Any], network: Mapping[str, Any]) -> str:
    """How the hub and a site are connected, as far as the report knows.

    Args:
        site: one of the report.
        network: that of the report.
    """
    delivery = "Open Cluster Management" if site.get("ocm") else "bundle" if site.get("bundle") else "direct"
    if site["cluster"] not in (network.get("sites") or {}):
        return delivery
    own = ((network["sites"][site["cluster"]] or {}).get("site") or {}).get("name") or site["cluster"]
    up = ((network.get("hub") or {}).get("linked") or {}).get(own)
    return f"Skupper, link {'up' if up else 'down'}"


def draw(sites: Sequence[Mapping[str, Any]], network: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Coordinates: C(width), C(height), C(hub_x), C(hub_y), C(regions) with their C(marks); and C(words), the picture as a sentence."""
    regions: dict[str, list[Mapping[str, Any]]] = {}
    for site in sites:
        regions.setdefault(site["region"] or "no region", []).append(site)
    boxes, y = [], 10
    for name, members in sorted(regions.items()):
        box = _box(name, members, y) | _link(members, network or {})
        boxes.append(box)
        y += box["height"] + _GAP
    height = max(y, 80)
    width = max((box["x"] + box["width"] for box in boxes), default=_LEFT) + 10
    counts = Counter(state_of(site) for site in sites)
    parts = [f"{counts[state]} {words}" for state, words in WORDS.items() if counts[state]]
    words = f"{len(sites)} sites in {len(regions)} regions: {', '.join(parts)}" if sites else "There are no sites"
    return {"width": width, "height": height, "hub_x": _HUB_X, "hub_y": height // 2, "regions": boxes, "words": words}


def _link(sites: Sequence[Mapping[str, Any]], network: Mapping[str, Any]) -> dict[str, str]:
    """The line between the hub and a region, and what it stands for. It is whole if all sites are online, dotted if none is, otherwise dashed; of dots and
    dashes where it is not known of all of them."""
    counts = Counter(state_of(site) for site in sites)
    online, unknown = counts["ok"] + counts["unready"], counts["unknown"]
    ways = Counter(access_of(site, network) for site in sites)
    words = ", ".join(f"{count} {way}" for way, count in sorted(ways.items()))
    link = "whole" if online == len(sites) else "unsure" if unknown else "part" if online else "none"
    unsure = f", {unknown} not known" if unknown else ""
    return {"link": link, "way": f"{online} of {len(sites)} sites online{unsure}; {words}"}


def _box(name: str, sites: Sequence[Mapping[str, Any]], y: int) -> dict[str, Any]:
    label = len(sites) <= _LABELLED
    columns, wide, tall = (8, _WIDE, _TALL) if label else (36, _NARROW, _LOW)
    rows = -(-len(sites) // columns)
    used = max(min(len(sites), columns) * wide, 200)
    marks = [
        {
            "name": site["cluster"],
            "state": state_of(site),
            "label": label,
            "x": _LEFT + 8 + (number % columns) * wide + wide // 2,
            "y": y + _HEAD + 10 + (number // columns) * tall,
        }
        for number, site in enumerate(sites)
    ]
    height = _HEAD + rows * tall + 4
    return {
        "name": name, "count": len(sites), "x": _LEFT, "y": y, "width": used + 16, "height": height, "middle": y + height // 2, "marks": marks,
    }  # fmt: skip
