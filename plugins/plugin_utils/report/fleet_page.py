# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fleet as one page of HTML that loads nothing: problems first, then a picture, sites, hub, runs and changes. Reads its template, else pure."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from ..base import times
from ..base.sizes import counted
from .curve import drawn
from .fleet import if_applied
from .picture import SHAPES, WORDS, access_of, draw, state_of

_SOON = 30  # days before a certificate ends in which it is marked
_RUNS = 50


def fleet_page(report: Mapping[str, Any], time: str, changes: Sequence[str] = ()) -> str:
    """The page.

    Args:
        report: result of C(fleet.fleet_report).
        time: now, ISO 8601, UTC.
        changes: lines of the audit trail's table.
    """
    now = times.moment(time) or datetime.datetime.now(datetime.timezone.utc)
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
    end = times.moment(not_after)
    if end is None:
        return {"text": "", "state": ""}
    days = (end - now).days
    if end <= now:
        return {"text": f"{not_after[:10]}, ended", "state": "ended"}
    return {"text": f"{not_after[:10]}, {days} days left", "state": "soon" if days < _SOON else ""}


def _rows(site: Mapping[str, Any], anchor: str, way: str, now: datetime.datetime) -> list[dict[str, Any]]:
    common = {
        "site": site["cluster"],
        "region": site["region"] or "",
        "state": state_of(site),
        "ends": _ends(site["certificate"].get("not_after", ""), now),
        "way": way,
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
            "datasets": ", ".join(_datasets(pool)),
        }
        for pool in site["pools"]
    ] or [{**common, **empty}]
    return [{**row, "anchor": anchor if number == 0 else ""} for number, row in enumerate(rows)]


def _datasets(pool: Mapping[str, Any]) -> list[str]:
    promised = pool.get("promised") or {}
    return [*(pool.get("datasets") or []), *(f"{name} ({if_applied(version)})" for name, version in promised.items())]


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    app = f"{run.get('fab-id') or ''} {run.get('fab-version') or ''}".strip()
    return {"id": run.get("run-id", ""), "app": app, "status": run.get("status", ""), "elapsed": run.get("elapsed", "")}


def _figure(run: Mapping[str, Any]) -> dict[str, Any]:
    """The curves of a run; empty without any."""
    found = [drawn(name, points) for name, points in (run.get("curves") or {}).items()]
    return {"run": run.get("run-id", ""), "app": run.get("fab-id") or "", "curves": found} if found else {}
