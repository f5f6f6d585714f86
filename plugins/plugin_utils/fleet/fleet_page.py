# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet as one page of HTML that loads nothing: problems first, then sites, runs, certificates, the hub and changes.

This file chooses and counts what the page shows. The template draws it.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from ..base import formats
from ..base.formats import counted, readable
from .fleet_report import datasets_of

#: States of a site, the worst first, and how people read them. The template has a colour and a form for each.
WORDS = {
    "unreachable": "unreachable",
    "offline": "SuperNodes offline",
    "unready": "pods not ready",
    "unknown": "unknown",
    "denied": "denied",
    "absent": "nothing deployed",
    "ok": "online",
}
#: Boxes in which points are drawn: left, top, right and bottom of a chart, and of a sparkline.
CHART, SPARK = (46, 8, 350, 142), (2, 2, 78, 18)

_LABELLED = 40  # sites of a region whose names are written out
_SHOWN = 20  # problems, and sites in a table, that are shown without a click
_SOON, _AHEAD = 30, 90  # days before a certificate ends in which it is marked, and in which it is on the timeline
_ALIKE = 3  # problems that are shown as one
_RUNS, _COMPARED = 50, 5  # runs in the table, and in a chart
_NAMED = 6  # certificates of a day that are named
_LONGEST = 1000  # characters of a text
# State of a run -> the state of a site whose colour and form it has.
_OUTCOMES = {"completed": "ok", "failed": "unreachable", "stopped": "denied", "running": "unready"}
_CHANGE = ("entry", "time", "who", "playbook", "cluster", "what")  # columns of the audit trail's table
_COMMAND = re.compile(r"(`[^`]+`|ansible-playbook -i \S+ federated\.flower\.\w+(?: (?:-e|--limit) \S*[^\s.,;:)])*|kubectl .*?(?=\. |$))")


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


def fleet_page(report: Mapping[str, Any], time: str, changes: Sequence[str] = ()) -> str:
    """The page. C(time): now, ISO 8601, UTC. C(changes): lines of the audit trail's table."""
    now = formats.moment(time) or datetime.datetime.now(datetime.timezone.utc)
    sites, hub, network = report["sites"], report["hub"], report.get("network") or {}
    anchors = {site["cluster"]: f"site-{number}" for number, site in enumerate(sites)}
    counts = Counter(map(state_of, sites))
    runs = sorted(report["runs"], key=lambda run: str(run.get("pending-at") or ""), reverse=True)
    ends = expiries(report, now)
    page = _template().render(
        state=overall(report),
        headline=_headline(report),
        time=now.astimezone(datetime.timezone.utc),
        hub=hub,
        hub_ends=_ends(hub["certificate"].get("not_after", ""), now),
        facts=_hub_facts(hub),
        shown=_SHOWN,
        findings=grouped(report["findings"], anchors),
        words=WORDS,
        counts={name: counts[name] for name in WORDS if counts[name]},
        nodes=_nodes(sites),
        regions=regions(sites, network, anchors),
        rows=[row for site in sites for row in _rows(site, anchors[site["cluster"]], access_of(site, network), now)],
        sites=len(sites),
        runs=[_run(run) for run in runs[:_RUNS]],
        all_runs=len(runs),
        active=sum(not str(run.get("status", "")).startswith("finished") for run in runs),
        charts=charts(runs[:_RUNS]),
        ahead=_AHEAD,
        ends=[one for one in ends if one["days"] <= _AHEAD],
        later=next((one for one in ends if one["days"] > _AHEAD), None),
        days=by_day(changes),
    )
    return page.lstrip()


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"clean": _clean, "commands": _COMMAND.split, "counted": counted, "sha256": _sha256}
    return environment.from_string(Path(__file__).with_name("fleet_page.html.j2").read_text(encoding="utf-8"))


def _sha256(text: str) -> str:
    """As a Content-Security-Policy names a script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _clean(value: Any, most: int = _LONGEST) -> str:
    """Text without what changes the direction of text, without control characters, and not too long. Escaping is the template's."""
    text = str(value if value is not None else "")
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def overall(report: Mapping[str, Any]) -> tuple[str, str]:
    """The state of the federation in a word, and its colour."""
    online, wanted, _sites = _nodes(report["sites"])
    if not report["hub"]["reachable"]:
        return "Unreachable", "unreachable"
    if not report["hub"]["asked"] or (wanted and not online):
        return "Down", "unreachable"
    return ("Degraded", "offline") if report["problems"] else ("Healthy", "ok")


def _nodes(sites: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """SuperNodes that are online and that should be, and of how many sites this is known."""
    asked = [site for site in sites if site["asked"]]
    pools = [pool for site in asked for pool in site["pools"]]
    return sum(pool["online"] for pool in pools), sum(pool["wanted"] for pool in pools), len(asked)


def _headline(report: Mapping[str, Any]) -> str:
    number, later = len(report["problems"]), len(report["warnings"])
    online, _wanted, asked = _nodes(report["sites"])
    state = counted(number, "problem") if number else "no problems"
    state += f", {counted(later, 'warning')}" if later else ""
    unknown = len(report["sites"]) - asked
    if unknown and not asked:
        return f"{state}, the number of online SuperNodes is unknown for {counted(unknown, 'site')}"
    words = f", unknown for {unknown} more" if unknown else ""
    return f"{state}, {counted(online, 'SuperNode')} of {counted(asked, 'site')} {'is' if online == 1 else 'are'} online{words}"


def grouped(findings: Sequence[Mapping[str, Any]], anchors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Findings with the anchor of their site; one with C(sites) for those of three sites or more that differ in nothing but the site's name."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in findings:
        name = re.compile(rf"(?<![\w-]){re.escape(one['cluster'])}(?![\w-])") if one["cluster"] in anchors else None
        key = tuple(name.sub("SITE", one[part]) if name else one[part] for part in ("text", "remedy"))
        found.setdefault((one["level"], *key), []).append({**one, "anchor": anchors.get(one["cluster"], ""), "sites": []})
    listed = []
    for (level, text, remedy), members in found.items():
        if len({one["cluster"] for one in members}) < _ALIKE:
            listed += members
        else:
            sites = [{"name": one["cluster"], "anchor": one["anchor"]} for one in members]
            listed.append({"level": level, "text": text, "remedy": remedy, "anchor": "", "sites": sites})
    return listed


def _hub_facts(hub: Mapping[str, Any]) -> dict[str, str]:
    """What else is known of the hub: what is under way, room for outputs, workloads."""
    lease, outputs = hub.get("lease") or {}, hub.get("outputs") or {}
    facts = {name.capitalize(): hub.get(name) or "" for name in ("upgrade", "rotation")}
    facts["Changed now by"] = f"{lease['holder']}, since {_minute(lease.get('since'))}" if lease.get("holder") else ""
    facts["Outputs"] = f"{readable(outputs['free'])} of {readable(outputs['size'])} are free" if outputs and not outputs.get("error") else ""
    return facts | {str(one["name"]): f"{one['ready']} of {one['desired']} ready" for one in hub["workloads"]}


def regions(sites: Iterable[Mapping[str, Any]], network: Mapping[str, Any], anchors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Regions with their sites and how these are connected; in large ones, names are not written out."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for site in sites:
        found.setdefault(site["region"] or "no region", []).append(site)
    listed = []
    for name, members in sorted(found.items()):
        counts, kinds = Counter(map(state_of, members)), Counter(access_of(site, network) for site in members)
        tiles = [{"name": one["cluster"], "state": state_of(one), "anchor": anchors.get(one["cluster"], "")} for one in members]
        states = ", ".join(f"{counts[state]} {WORDS[state]}" for state in WORDS if counts[state])
        connections = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        listed.append({"name": name, "tiles": tiles, "labelled": len(members) <= _LABELLED, "states": states, "connections": connections})
    return listed


def _ends(not_after: str, now: datetime.datetime) -> dict[str, str]:
    end = formats.moment(not_after)
    if end is None:
        return {"text": "", "state": ""}
    days = (end - now).days
    if end <= now:
        return {"text": f"{not_after[:10]}, ended", "state": "ended"}
    return {"text": f"{not_after[:10]}, {counted(days, 'day')} left", "state": "soon" if days < _SOON else ""}


def expiries(report: Mapping[str, Any], now: datetime.datetime) -> list[dict[str, Any]]:
    """Certificates by the day on which they end, all that have ended under the first of these days: C(date), C(days) from now, C(state), C(what)."""
    hub, network = report["hub"], report.get("network") or {}
    found = [(hub["certificate"].get("not_after"), "gateway of the hub")]
    found += [(one.get("not_after"), f"CA {one.get('subject') or ''}") for one in hub["trust"]]
    found += [(site["certificate"].get("not_after"), f"site {site['cluster']}") for site in report["sites"]]
    found += [(one.get("not_after"), f"Skupper at the hub ({one.get('kind')})") for one in (network.get("hub") or {}).get("certificates") or []]
    links = [(name, link) for name, site in (network.get("sites") or {}).items() for link in site.get("links") or []]
    found += [(link.get("not_after"), f"Skupper link of {name}") for name, link in links]
    dates: dict[str, list[tuple[datetime.datetime, str]]] = {}
    for end, what in sorted((end, what) for text, what in found if (end := formats.moment(text))):
        dates.setdefault("ended" if end <= now else end.date().isoformat(), []).append((end, what))
    listed = []
    for date, members in dates.items():
        end, names = members[0][0], [what for _end, what in members]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        days = max((end - now).days, 0)
        state = "ended" if date == "ended" else "soon" if days < _SOON else "ok"
        listed.append({"date": end.date().isoformat(), "days": days, "state": state, "what": ", ".join([*names[:_NAMED], *more])})
    return listed


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
            "last_seen": _minute(pool["last_seen"]),
            "datasets": ", ".join(datasets_of(pool)),
        }
        for pool in site["pools"]
    ] or [{**common, **empty}]
    return [{**row, "anchor": anchor if number == 0 else ""} for number, row in enumerate(rows)]


def _minute(time: Any) -> str:
    """A time without its seconds; any other text as it is."""
    return str(time)[:16].replace("T", " ") if formats.moment(time) else str(time or "")


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run in the table, with the last values of its metrics and the curve of the first one."""
    status, _colon, outcome = str(run.get("status", "")).partition(":")
    curves = run.get("curves") or {}
    try:
        seconds = float(run.get("elapsed") or 0)
    except (TypeError, ValueError, OverflowError):
        seconds = 0.0
    return {
        "id": run.get("run-id", ""),
        "app": f"{run.get('fab-id') or ''} {run.get('fab-version') or ''}".strip(),
        "status": outcome or status,
        "state": _OUTCOMES.get(outcome or status, "unknown"),
        "submitted": _minute(run.get("pending-at")),
        "seconds": seconds,
        "duration": spelled(seconds),
        "rounds": max((int(points[-1][0]) for points in curves.values()), default=""),
        "metrics": [f"{_clean(name, 40)} {points[-1][1]:.4g}" for name, points in curves.items()][:3],
        "spark": next((_line(points, *_range(points), SPARK) for points in curves.values()), ""),
    }


def spelled(seconds: float) -> str:
    """A duration with its units, like C(12.3 s), C(4 min 5 s) and C(2 h 3 min); empty for none."""
    if not 0 < seconds < 1e9:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def charts(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each app, the newest runs: a chart for each metric with a line for each run, and its axes."""
    apps: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run.get("curves"):
            apps.setdefault(str(run.get("fab-id") or ""), []).append(run)
    listed = []
    for app, members in apps.items():
        compared = members[:_COMPARED]
        names = sorted({name for run in compared for name in run["curves"]})
        listed.append({"app": app, "runs": len(compared), "metrics": [_chart(name, compared) for name in names]})
    return listed


def _chart(name: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    curves = {str(run.get("run-id", "")): run["curves"][name] for run in runs if name in run["curves"]}
    across, up = _range([point for points in curves.values() for point in points])
    left, top, right, bottom = CHART
    rounds = [number for number in _ticks(*across) if number == int(number)]
    return {
        "name": name,
        "lines": [{"run": run, "points": _line(points, across, up, CHART), **_described(points)} for run, points in curves.items()],
        "rounds": [{"at": _place(number, across, left, right), "text": f"{number:.0f}"} for number in rounds],
        "values": [{"at": _place(number, up, bottom, top), "text": f"{number:.4g}"} for number in _ticks(*up)],
    }


def _described(points: Sequence[Sequence[float]]) -> dict[str, str]:
    """The curve of a run in words. C(points): round and value, by round."""
    values = [value for _number, value in points]
    (first, start), (last, end) = points[0], points[-1]
    words = f"from {start:.4g} in round {first:g}; lowest {min(values):.4g}, highest {max(values):.4g}"
    return {"last": f"{end:.4g}", "round": f"{last:g}", "words": words}


def _range(points: Sequence[Sequence[float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The lowest and the highest of rounds and of values."""
    rounds, values = [point[0] for point in points], [point[1] for point in points]
    return (min(rounds), max(rounds)), (min(values), max(values))


def _line(points: Sequence[Sequence[float]], across: tuple[float, float], up: tuple[float, float], box: tuple[float, float, float, float]) -> str:
    """Points of an SVG polyline in a box."""
    left, top, right, bottom = box
    return " ".join(f"{_place(number, across, left, right):g},{_place(value, up, bottom, top):g}" for number, value in points)


def _place(value: float, limits: tuple[float, float], start: float, end: float) -> float:
    """Where a value is drawn; in the middle if all are the same. Halves, so that the distance of the largest numbers is finite."""
    low, high = limits
    span = high / 2 - low / 2
    return round(start + (end - start) * (min((value / 2 - low / 2) / span, 1.0) if span else 0.5), 1)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two others, three to six; these two where there are none."""
    rough = (high - low) / 5
    if not 1e-300 < rough < math.inf:
        return sorted({low, high})
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if size * factor >= rough)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def by_day(lines: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Day -> changes, both the newest first: C(time), C(who), C(playbook), and C(what) by cluster. Lines before the table are under no day."""
    head = next((number for number, line in enumerate(lines) if tuple(line.split()) == _CHANGE), len(lines))
    entries: list[dict[str, Any]] = []
    starts = [match.start() for match in re.finditer(r"\S+", lines[head])] if head < len(lines) else []
    for line in lines[head + 1 :]:
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None])]
        entry, time, who, playbook, *change = cells
        if entry or not entries:
            entries.append({"entry": entry, "time": time, "who": who, "playbook": playbook, "what": []})
        entries[-1]["what"] += [change] if any(change) else []
    days: dict[str, list[dict[str, Any]]] = {}
    if head:
        days[""] = [{"entry": "", "time": "", "who": "", "playbook": "", "what": [["", line]]} for line in lines[:head]]
    for one in reversed(entries):
        days.setdefault(one["time"][:10] or "Day unknown", []).append(one)
    return days
