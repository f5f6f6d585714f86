# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet as one page of HTML that loads nothing: problems first, then a picture, sites, hub, runs and changes."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from ..base import formats
from ..base.formats import counted
from .fleet_report import datasets_of

WIDTH, HEIGHT = 240, 60
_EDGE = 4  # so that the line is not cut off

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

_SOON = 30  # days before a certificate ends in which it is marked
_RUNS = 50


def drawn(name: str, points: Sequence[Sequence[float]]) -> dict[str, Any]:
    """One curve. C(points): round and value, by round; two or more.

    Returns:
        C(name), C(points) (of an SVG polyline in a box of C(WIDTH) and C(HEIGHT)), C(x) and C(y) of its last point, C(last) (its value) and
        C(words), which say the same.
    """
    rounds, values = [point[0] for point in points], [point[1] for point in points]
    low, high = min(values), max(values)
    places = [
        (
            round(_EDGE + (WIDTH - 2 * _EDGE) * _share(number, rounds[0], rounds[-1]), 1),
            round(HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * _share(value, low, high), 1),
        )
        for number, value in zip(rounds, values)
    ]
    words = (
        f"from {values[0]:.4g} in round {rounds[0]:g} to {values[-1]:.4g} in round {rounds[-1]:g}, lowest {low:.4g}, highest {high:.4g}"
    )
    line = " ".join(f"{x:g},{y:g}" for x, y in places)
    return {"name": name, "points": line, "x": places[-1][0], "y": places[-1][1], "last": f"{values[-1]:.4g}", "words": words}


def _share(value: float, low: float, high: float) -> float:
    """Where a value is between two others; in the middle if they are the same. Halves, so that the distance of the largest numbers is finite."""
    span = high / 2 - low / 2
    return min((value / 2 - low / 2) / span, 1.0) if span else 0.5


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
    """How the hub and a site are connected, as far as the report knows."""
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
    kinds = Counter(access_of(site, network) for site in sites)
    words = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    link = "whole" if online == len(sites) else "unsure" if unknown else "part" if online else "none"
    unsure = f", {unknown} not known" if unknown else ""
    return {"link": link, "connection": f"{online} of {len(sites)} sites online{unsure}; {words}"}


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


def fleet_page(report: Mapping[str, Any], time: str, changes: Sequence[str] = ()) -> str:
    """The page. C(time): now, ISO 8601, UTC. C(changes): lines of the audit trail's table."""
    now = formats.moment(time) or datetime.datetime.now(datetime.timezone.utc)
    sites, hub, network = report["sites"], report["hub"], report.get("network") or {}
    anchors = {site["cluster"]: f"site-{number}" for number, site in enumerate(sites)}
    counts = Counter(state_of(site) for site in sites)
    runs = sorted(report["runs"], key=lambda run: str(run.get("pending-at") or ""), reverse=True)
    return _template().render(
        headline=_headline(report),
        time=time,
        hub=hub,
        hub_state="ok" if hub["well"] else "offline" if hub["reachable"] else "unreachable",
        hub_ends=_ends(hub["certificate"].get("not_after", ""), now),
        findings=[{**one, "anchor": anchors.get(one["cluster"], "")} for one in report["findings"]],
        picture=draw(sites, network),
        shapes=SHAPES,
        words=WORDS,
        states=[{"name": name, "count": counts[name]} for name in WORDS if counts[name]],
        rows=[row for site in sites for row in _rows(site, anchors[site["cluster"]], access_of(site, network), now)],
        runs=[_run(run) for run in runs[:_RUNS]],
        runs_caption=f"The last {_RUNS} of {len(runs)} runs" if len(runs) > _RUNS else f"{len(runs)} runs",
        curves=[figure for run in runs[:_RUNS] if (figure := _figure(run))],
        changes=list(changes),
    )


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["clean"] = _clean
    return environment.from_string(Path(__file__).with_name("fleet_page.html.j2").read_text(encoding="utf-8"))


def _clean(value: Any) -> str:
    """Text without what changes the direction of text, and without control characters. Escaping is the template's."""
    return "".join(one if one.isprintable() else "\ufffd" for one in str(value if value is not None else ""))


def _headline(report: Mapping[str, Any]) -> str:
    number, later = len(report["problems"]), len(report["warnings"])
    asked = [site for site in report["sites"] if site["asked"]]
    online = sum(pool["online"] for site in asked for pool in site["pools"])
    state = "no problems" if not number else counted(number, "problem")
    state += f", {counted(later, 'warning')}" if later else ""
    unknown = len(report["sites"]) - len(asked)
    if unknown and not asked:
        return f"{state}, it is not known how many SuperNodes of {unknown} sites are online"
    words = f", of {unknown} more it is not known" if unknown else ""
    return f"{state}, {online} SuperNodes of {len(asked)} sites are online{words}"


def _ends(not_after: str, now: datetime.datetime) -> dict[str, str]:
    end = formats.moment(not_after)
    if end is None:
        return {"text": "", "state": ""}
    days = (end - now).days
    if end <= now:
        return {"text": f"{not_after[:10]}, ended", "state": "ended"}
    return {"text": f"{not_after[:10]}, {days} days left", "state": "soon" if days < _SOON else ""}


def _rows(site: Mapping[str, Any], anchor: str, connection: str, now: datetime.datetime) -> list[dict[str, Any]]:
    common = {
        "site": site["cluster"],
        "region": site["region"] or "",
        "state": state_of(site),
        "ends": _ends(site["certificate"].get("not_after", ""), now),
        "connection": connection,
    }
    empty = {"pool": "", "online": "", "ready": "", "version": "", "last_seen": "", "datasets": ""}
    rows = [
        {
            **common,
            "pool": pool["name"],
            "online": f"{pool['online']} of {pool['wanted']}" if site["asked"] else "unknown",
            "ready": "unknown" if pool["desired"] is None else f"{pool['ready']} of {pool['desired']}",
            "version": pool["version"],
            "last_seen": pool["last_seen"],
            "datasets": ", ".join(datasets_of(pool)),
        }
        for pool in site["pools"]
    ] or [{**common, **empty}]
    return [{**row, "anchor": anchor if number == 0 else ""} for number, row in enumerate(rows)]


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    app = f"{run.get('fab-id') or ''} {run.get('fab-version') or ''}".strip()
    return {"id": run.get("run-id", ""), "app": app, "status": run.get("status", ""), "elapsed": run.get("elapsed", "")}


def _figure(run: Mapping[str, Any]) -> dict[str, Any]:
    """The curves of a run; empty without any."""
    found = [drawn(name, points) for name, points in (run.get("curves") or {}).items()]
    return {"run": run.get("run-id", ""), "app": run.get("fab-id") or "", "curves": found} if found else {}
