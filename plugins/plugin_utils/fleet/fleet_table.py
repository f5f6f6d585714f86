# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a fleet as a table for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import formats
from ..base.formats import readable
from ..flower.schedules import describe
from .fleet_report import datasets_of, end_of

_COLUMNS = ("cluster", "region", "pool", "ready", "online", "version", "certificate ends", "last seen", "state")


def fleet_table(report: Mapping[str, Any]) -> str:
    """The report as lines of text."""
    hub, sites = report["hub"], report["sites"]
    ends = end_of(hub["certificate"])
    rows: list[tuple[str, ...]] = []
    for item in hub["workloads"]:
        ready, state = f"{item['ready']}/{item['desired']}", "ok" if item["ready"] >= max(item["desired"], 1) else "not ready"
        rows.append((hub["cluster"], "", item["name"], ready, "", hub["version"], ends if item["name"] == "superlink" else "", "", state))
    if not hub["reachable"]:
        rows.append((hub["cluster"], "", "", "", "", hub["version"], ends, "", "unreachable"))
    for site in sites:
        rows += [_row(site, pool) for pool in site["pools"]]
        if not site["pools"]:
            bundle = site.get("bundle") or {}
            bare = f"bundle {bundle['version']}, not answered" if bundle.get("version") else "nothing deployed"
            state = "unreachable" if not site["reachable"] else "unknown" if bundle and not site["asked"] else bare
            state = "maintenance" if site.get("maintenance") else state
            rows.append((site["cluster"], site["region"] or "", "", "", "", "", "", "", state))
    rows += [(name, "", "", "", "", "", "", "", "not in the inventory") for name in report["forgotten"]]
    lines = formats.columns([_COLUMNS, *(tuple(map(str, row)) for row in rows)])
    active = [run for run in report["runs"] if not str(run.get("status", "")).startswith("finished")]
    known = f"{hub['partitions']} partitions, {len(active)} active runs" if hub["asked"] else "active runs unknown"
    named = f"federation {hub['federation']}, " if hub.get("federation") else ""
    lines.append(f"{named}address {hub['address'] or 'unknown'}, {known}")
    lease, outputs = hub.get("lease") or {}, hub.get("outputs") or {}
    if lease.get("holder"):
        lines.append(f"{lease['holder']} has been changing the fleet since {lease['since']}")
    lines += [hub[name] for name in ("upgrade", "rotation", "backup") if hub.get(name)]
    if outputs and not outputs.get("error"):
        place = f", uploaded to {outputs['bucket']}" if outputs.get("bucket") else ""
        lines.append(f"outputs: {readable(outputs['free'])} of {readable(outputs['size'])} are free{place}")
    lines += [describe(one) for one in report.get("schedules") or []]
    datasets: dict[str, list[str]] = {}
    images: dict[str, list[str]] = {}
    proxies: dict[str, list[str]] = {}
    for site in sites:
        for pool in site["pools"]:
            for one in datasets_of(pool):
                name, blank, note = one.partition(" ")
                datasets.setdefault(name, []).append(f"{site['cluster']} {pool['name']}{blank}{note}")
        for app in site.get("clientapps") or []:
            images.setdefault(str(app["image"]), []).append(f"{site['cluster']} {app['pool']} {app['ready']}/{app['desired']}")
        if site.get("http_proxy"):
            proxies.setdefault(str(site["http_proxy"]), []).append(str(site["cluster"]))
    for title, found in (("dataset", datasets), ("clientapp", images), ("HTTP proxy", proxies)):
        lines += [f"{title} {name}: {', '.join(places)}" for name, places in sorted(found.items())]
    lines += _network_lines(report.get("network") or {})
    lines += [f"! {problem}" for problem in report["problems"]]
    return "\n".join(lines + [f"~ {warning}" for warning in report["warnings"]])


def _network_lines(found: Mapping[str, Any]) -> list[str]:
    """The Skupper network in a line or two."""
    hub = found.get("hub")
    if not hub:
        return []
    kinds = {"ca": "CA", "server": "router"}
    linked = ", ".join(f"{name} ({'up' if up else 'down'})" for name, up in hub["linked"].items()) or "none"
    ends = ", ".join(f"{kinds[one['kind']]} {end_of(one)}" for one in hub["certificates"] if one["kind"] in kinds)
    where = ", ".join(hub["site"]["endpoints"]) or "unknown"
    links = [f"{name} {end_of(link)}" for name, site in found["sites"].items() for link in site.get("links", []) if link["not_after"]]
    return [
        f"skupper {hub['site']['controller'] or '?'} at {where}, linked: {linked}, listening: {', '.join(hub['listeners']) or 'none'}",
        f"skupper certificates expire: {ends or 'unknown'}; links: {', '.join(links) or 'unknown'}",
    ]


def _row(site: Mapping[str, Any], pool: Mapping[str, Any]) -> tuple[str, ...]:
    if site.get("maintenance"):
        state = "maintenance"
    elif not site["reachable"]:
        state = "unreachable"
    elif site["access"]:
        state = "denied"
    elif not site.get("bundle") and pool["desired"] is None:
        state = "not deployed"
    elif pool["desired"] == 0 and not pool["online"]:
        state = "no replicas"
    elif not site["asked"]:
        state = "unknown"
    elif pool["online"] < pool["wanted"]:
        state = "offline"
    else:
        state = "ok" if pool["desired"] is None or pool["ready"] >= pool["desired"] else "not ready"
    ready = "?" if pool["desired"] is None else f"{pool['ready']}/{pool['desired']}"
    online = f"{pool['online']}/{pool['wanted']}" if site["asked"] else "?"
    return (site["cluster"], site["region"] or "", pool["name"], ready, online, pool["version"], end_of(site["certificate"]), pool["last_seen"], state)
