# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fleet in one report: for machines a dict, for people a table. Pure functions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import formats
from ..base.formats import readable
from ..base.object_names import GATEWAY_SECRET
from ..ocm import health
from ..skupper import network
from ..spec.site_spec import DAEMON_SET, STATEFUL_SET
from . import findings
from .findings import Findings

# How early the expiry of a certificate in the Skupper network is a problem: only the playbooks renew it.
_SOON = datetime.timedelta(days=30)
# The gateway loads its files within two minutes, and Flower counts a SuperNode as online for a minute after its last heartbeat.
_DENIED = datetime.timedelta(minutes=3)
# For how long a run may wait for its ServerApp; the alert FlowerRunWaits has the same limit.
_WAITS = datetime.timedelta(minutes=15)
# Certificates that are valid for no longer are shown with the minute of their end.
_BRIEF = datetime.timedelta(days=7)
_COLUMNS = ("cluster", "region", "pool", "ready", "online", "version", "certificate ends", "last seen", "state")


def fleet_report(
    hub_name: str, hub: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]], known: Sequence[str] | None = None
) -> dict[str, Any]:
    """Combine the results of hub and sites.

    Args:
        hub_name: inventory name of the hub.
        hub: result of M(federated.flower.superlink_info).
        sites: inventory name -> result of M(federated.flower.supernode_info), for the checked sites.
        known: all sites of the inventory; C(sites) by default. Sites of the ledger that are not among them are I(forgotten).

    Returns:
        C(healthy) (bool), C(hub) (dict; C(asked): whether the SuperLink has listed SuperNodes and runs, C(well): it answers, and all of it
        is ready), C(sites) (list of dicts, one per site, with C(pools) (C(keys): how many SuperNodes the ledger has, C(wanted): how many
        should be online), C(access), C(certificate), C(clientapps) (those in their own pods), C(http_proxy) (the address of the one on its
        way to the hub, or empty), C(asked) (whether it is known which of its SuperNodes are online; if not, C(online) of its pools is None)
        and C(ocm), which is empty for a site that is reached directly), C(network) (dict: C(hub) and C(sites) of the Skupper network; empty
        without one), C(forgotten) (list of names), C(unknown_nodes) (list of node ids), C(runs) (list), C(problems) and C(warnings) (lists
        of sentences), C(findings) (both with their remedies, as C(findings.Finding)).
    """
    known = list(sites) if known is None else list(known)
    now = datetime.datetime.now(datetime.timezone.utc)
    found = Findings(hub_name)
    _hub_findings(hub_name, hub, found, now)
    listed = [_site(name, sites[name], hub, found, now) for name in sites]
    if hub.get("insecure") and _has_answered(hub):
        _nameless_findings(hub_name, hub, listed, found)
    forgotten = sorted(set(hub["sites"]) - set(known))
    for name in forgotten:
        found.problem(name, f"{name} is not in the inventory, but still in the ledger", findings.forgotten(name), with_remedy=True)
    joined = {
        name: site.get("network") or {} for name, site in sites.items() if site.get("skupper") and site["reachable"]
    }
    around = hub.get("network") or {}
    if hub["reachable"] and joined:
        for text in network.problems(hub_name, around, joined, now, _SOON):
            found.problem(_named(text, sites), text, findings.NETWORK)
    # Any of them may be one of a site whose record is lost, and unregistering is for good.
    for node in hub["unknown_nodes"] if all(name in hub["sites"] for name, site in sites.items() if site["workloads"]) else ():
        found.problem("", f"node {node} is registered at the SuperLink, but not in the ledger", findings.NODE_UNKNOWN, with_remedy=True)
    for run in _stuck(hub["runs"], now):
        text = f"run {run['run-id']}{_of_app(run)} is {run['status']} since {str(run['pending-at'])[:16]}, and no other run is active"
        found.warning("", text, findings.RUN_STUCK)
    for run in _last_failed(hub["runs"]):
        text = f"run {run['run-id']}{_of_app(run)} failed{_details(run)}"
        found.warning("", text, findings.run_failed(str(run["run-id"])))
    return {
        "healthy": not found.problems,
        "hub": {
            "cluster": hub_name,
            "federation": hub.get("federation") or "",
            "reachable": hub["reachable"],
            "asked": _has_answered(hub),
            "well": bool(hub["reachable"] and hub["deployed"] and not hub["error"] and not hub["trouble"]),
            "address": hub["address"],
            "version": hub["version"],
            "workloads": hub["workloads"],
            "certificate": hub["certificate"],
            "trust": hub["trust"],
            "partitions": hub["partitions"],
            "outputs": hub.get("outputs") or {},
            "lease": hub.get("lease") or {},
            "backup": _backup(hub, now),
            "upgrade": hub.get("upgrade") or "",
            "rotation": _rotation(hub),
        },
        "sites": listed,
        "network": {"hub": around, "sites": joined} if around or joined else {},
        "forgotten": forgotten,
        "unknown_nodes": list(hub["unknown_nodes"]),
        "runs": list(hub["runs"]),
        "problems": found.problems,
        "warnings": found.warnings,
        "findings": found.facts(),
    }


def _backup(hub: Mapping[str, Any], now: datetime.datetime) -> str:
    """How old the last backup of a hub is, in words; empty if that is not known."""
    if not _has_answered(hub) or "backup" not in hub:
        return ""
    at = formats.moment(hub["backup"].get("at"))
    if at is None:
        return "no backup of the hub is noted"
    days = (now - at).days
    return f"the last backup of the hub is of {at.isoformat()[:16]}, {f'{days} days' if days > 1 else 'a day' if days else 'less than a day'} ago"


def _rotation(hub: Mapping[str, Any]) -> str:
    """How far a rotation of the federation's own CA is that is not complete, as the CA bundle of the sites shows it; empty if there is none."""
    signs, trust = hub["certificate"].get("ca") or {}, hub["trust"]
    if hub["certificate"].get("secret") != GATEWAY_SECRET or len(trust) != 2 or not signs:
        return ""
    (other,) = [one for one in trust if any(one[key] != signs[key] for key in signs)] or [signs]
    if other["not_before"] > signs["not_before"]:
        return f"a rotation of the CA is adding the one that ends on {_end(other)}: federated.flower.rotate_certs continues it"
    return (
        f"a rotation of the CA has switched, and sites still trust the previous one, which ends on {_end(other)}: once cert_rotation_grace is over, "
        "federated.flower.rotate_certs drops it and ends the rotation"
    )


def _end(certificate: Mapping[str, Any]) -> str:
    """When a certificate ends: the day, or the minute (UTC) where it is valid for a few days only and several end on one day."""
    start, end = formats.moment(certificate.get("not_before") or ""), formats.moment(certificate.get("not_after") or "")
    brief = start and end and end - start <= _BRIEF
    return str(certificate.get("not_after", ""))[: 16 if brief else 10].replace("T", " ")


def _hub_findings(name: str, hub: Mapping[str, Any], found: Findings, now: datetime.datetime) -> None:
    if not hub["reachable"] or hub["error"]:
        remedy = findings.HUB_SILENT if hub["reachable"] else findings.hub_away(hub["error"])
        found.problem(name, f"hub {name}: {hub['error'] or 'not reachable'}", remedy)
    elif not hub["deployed"]:
        found.problem(name, f"hub {name}: no SuperLink is deployed", findings.HUB_BARE)
    if hub["trouble"]:
        found.problem(name, f"hub {name}: {hub['trouble']}", findings.HUB_PODS)
    if hub["certificate"].get("fault"):
        found.problem(
            name,
            f"hub {name}: sites refuse the gateway's certificate: {hub['certificate']['fault']}; federated.flower.site "
            "resolves it, or reports the remedy",
            findings.HUB_CERTIFICATE,
        )
    elif ends_soon(hub["certificate"], now):
        found.warning(name, f"hub {name}: the gateway's certificate ends on {hub['certificate']['not_after'][:16]}", findings.renew(name, True))
    ca = hub["certificate"].get("ca") or {}
    if ends_soon(ca, now):
        text = f"hub {name}: the CA of the gateway's certificate, {ca['subject']}, ends on {ca['not_after'][:16]}: no site connects after that"
        found.warning(name, text, findings.CA_ENDS)
    _outputs_findings(name, hub.get("outputs") or {}, found)
    if stale := (hub.get("lease") or {}).get("ended"):
        found.warning(name, f"hub {name}: {stale} did not return the lease of the fleet, which has ended", findings.LEASE_LEFT)


def _outputs_findings(name: str, outputs: Mapping[str, Any], found: Findings) -> None:
    if outputs.get("error"):
        text = f"hub {name}: how much room is left for outputs of runs is not known: {outputs['error']}"
        found.problem(name, text, findings.OUTPUTS_UNKNOWN)
    elif outputs and outputs["free"] < outputs["min_free"]:
        text = (
            f"hub {name}: the volume for outputs of runs has {readable(outputs['free'])} left, less than superlink_outputs_min_free "
            f"({readable(outputs['min_free'])}), so no run is submitted. {findings.OUTPUTS_FULL}"
        )
        found.problem(name, text, findings.OUTPUTS_FULL)


def ends_soon(certificate: Mapping[str, Any], now: datetime.datetime) -> bool:
    """Whether a certificate that should have been renewed, at half of its lifetime, has only a tenth of it left. What has ended is not meant."""
    start, end = formats.moment(certificate.get("not_before") or ""), formats.moment(certificate.get("not_after") or "")
    return bool(start and end and start < end and now < end and end - now < (end - start) / 10)


def _is_over(since: str, period: datetime.timedelta, now: datetime.datetime) -> bool:
    """Whether a period that began at a time (ISO 8601) is over; also where that time cannot be read."""
    start = formats.moment(since)
    return start is None or now - start > period


def _named(text: str, sites: Mapping[str, Any]) -> str:
    """The site that a sentence begins with; empty for another."""
    first = text.partition(":")[0]
    return first if first in sites else ""


def _stuck(runs: Sequence[Mapping[str, Any]], now: datetime.datetime) -> list[Mapping[str, Any]]:
    """The run that waits for a ServerApp although none is busy: a list of one or none."""
    active = [run for run in runs if not str(run.get("status", "")).startswith("finished")]
    if any(run["status"] not in ("pending", "starting") for run in active):
        return []
    waiting = [run for run in active if (since := formats.moment(run.get("pending-at"))) and now - since > _WAITS]
    return sorted(waiting, key=lambda run: str(run["pending-at"]))[:1]


def _last_failed(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The run that ended last, if it failed: a list of one or none."""
    ended = [run for run in runs if str(run.get("status", "")).startswith("finished")]
    last = max(ended, key=lambda run: str(run.get("finished-at") or ""), default=None)
    return [last] if last is not None and last["status"] == "finished:failed" else []


def _of_app(run: Mapping[str, Any]) -> str:
    return f" of {run['fab-id']}" if run.get("fab-id") else ""


def _details(run: Mapping[str, Any]) -> str:
    words = " ".join(str(run.get("status-details") or "").split())
    return f": {words}" if words and words != "N/A" else ""


def _outputs_lines(found: Mapping[str, Any]) -> list[str]:
    """The room for outputs in a line."""
    if not found or found.get("error"):
        return []
    return [f"outputs: {readable(found['free'])} of {readable(found['size'])} are free"]


def _lease_lines(found: Mapping[str, Any]) -> list[str]:
    """Who is changing the fleet now."""
    return [f"{found['holder']} has been changing the fleet since {found['since']}"] if found.get("holder") else []


def _site(name: str, site: Mapping[str, Any], hub: Mapping[str, Any], found: Findings, now: datetime.datetime) -> dict[str, Any]:
    record = hub["sites"].get(name, {"region": None, "keys": [], "pools": {}})
    access = record.get("access") or {}
    live = {item["pool"]: item for item in site["workloads"]}
    names = list(dict.fromkeys([*live, *(key["pool"] for key in record["keys"])]))
    apart = {item["pool"]: item for item in site.get("clientapps") or []}
    lost = bool(_has_answered(hub) and live and name not in hub["sites"])
    asked = _has_answered(hub) and not record.get("fault") and not hub.get("insecure") and not lost
    pools = [_pool(pool, live.get(pool), record, hub["nodes"] if asked else None, apart.get(pool)) for pool in names]
    if site.get("bundle"):
        for pool in pools:  # a key and its successor are those of one SuperNode
            pool["registered"] = pool["wanted"] = len({key["name"] for key in record["keys"] if key["pool"] == pool["name"] and key["node_id"]})
    if record.get("fault"):
        found.problem(name, f"{name}: {record['fault']}", findings.LEDGER)
    if lost:
        text = f"{name}: its SuperNodes are deployed, and the ledger has no record of them: which of those at the SuperLink are theirs is not known"
        found.problem(name, text, findings.RECORD_LOST)
    if not site["reachable"]:
        found.problem(name, site["error"], findings.managed_away(name) if site.get("ocm") else findings.site_away(name, site["error"]))
    elif site.get("bundle"):
        _bundle_findings(name, site["bundle"], found)
    elif not pools or not (access or (site.get("ocm") and site["trouble"])):  # these two say why something is not deployed
        _bare_findings(name, live, record, found)
    if site["trouble"]:
        found.problem(name, f"{name}: {site['trouble']}", findings.site_pods(name, site["trouble"]))
    if access:
        found.problem(name, f"{name} is denied since {access['since']} ({access['reason'] or 'no reason given'})", findings.site_denied(name))
        if sum(pool["online"] or 0 for pool in pools) and _is_over(access["since"], _DENIED, now):
            found.problem(name, f"{name} is denied, and SuperNodes of it are online: the gateway does not refuse them", findings.DENIED_ONLINE)
    apps = _clientapps(apart, site["workloads"])
    if not site.get("ocm"):
        for one in apps:
            if one["ready"] < one["desired"]:
                text = f"{name}: {one['ready']} of {one['desired']} ClientApps of pool {one['pool']} are ready"
                found.problem(name, text, findings.site_pods(name, ""))
    for pool in pools if not access else ():
        few = (pool["kind"] or "") if pool["desired"] is not None and pool["desired"] < pool["keys"] else ""
        # A pool that is not deployed is a problem of its own.
        if asked and pool["online"] < pool["wanted"] and (pool["desired"] is not None or site.get("bundle") or not site["reachable"]):
            text = f"{name}: {pool['online']} of {pool['wanted']} SuperNodes of pool {pool['name']} are online"
            text += f", and its StatefulSet wants {pool['desired']}" if few == STATEFUL_SET else ""
            is_reached = not (site.get("bundle") or site.get("ocm"))
            found.problem(name, text, findings.scaled(name) if few == STATEFUL_SET else findings.nodes_offline(name, is_reached=is_reached))
        if few == DAEMON_SET:
            text = f"{name}: pool {pool['name']} has {pool['keys']} SuperNodes in the ledger, and its cluster has nodes for {pool['desired']}"
            found.warning(name, text, findings.nodes_left(name))
        if pool["version"] and hub["version"] and pool["version"] != hub["version"] and not hub.get("upgrade"):
            text = f"{name}: pool {pool['name']} runs Flower {pool['version']}, the hub {hub['version']}"
            found.warning(name, text, findings.skew(name))
    client = record.get("client") or {}
    if not access:
        _client_findings(name, client, found, now, away=any(asked and pool["online"] < pool["wanted"] for pool in pools))
    about = {"bundle": site["bundle"]} if site.get("bundle") else {}
    return {
        "cluster": name,
        **about,
        "region": record["region"],
        "reachable": site["reachable"],
        "asked": asked,
        "access": access,
        "certificate": client,
        "pools": pools,
        "clientapps": apps,
        "http_proxy": site.get("http_proxy") or "",
        "ocm": health.with_nodes(site.get("ocm") or {}, sum(pool["online"] for pool in pools) if asked else None),
    }


def _client_findings(name: str, client: Mapping[str, Any], found: Findings, now: datetime.datetime, *, away: bool) -> None:
    """Of a site's client certificate. C(away): whether SuperNodes of the site are not online; then its end may be why."""
    end = formats.moment(client.get("not_after") or "")
    if end is not None and end <= now:
        text = f"{name}: its client certificate ended on {client['not_after'][:16]}: a gateway that requires one refuses it at its next connection"
        (found.problem if away else found.warning)(name, text, findings.renew(name, False))
    elif ends_soon(client, now):
        found.warning(name, f"{name}: its client certificate ends on {client['not_after'][:16]}", findings.renew(name, False))


def _nameless_findings(name: str, hub: Mapping[str, Any], sites: Sequence[Mapping[str, Any]], found: Findings) -> None:
    """Of SuperNodes without keys, which are known by their number alone."""
    online = sum(node["status"] == "online" for node in hub["nodes"].values())
    wanted = sum(pool["desired"] or 0 for site in sites for pool in site["pools"])
    text = f"hub {name}: {online} SuperNodes are online; without node authentication (flower_insecure) it is not known of which site"
    if online < wanted:
        found.problem(name, f"{text}, and these sites have {wanted}", findings.NAMELESS)
    else:
        found.warning(name, text, findings.NAMELESS)


def _has_answered(hub: Mapping[str, Any]) -> bool:
    """Whether the SuperLink has listed its SuperNodes; otherwise nothing is known of any of them. What fails after that changes nothing."""
    return bool(hub["reachable"] and hub["deployed"] and (hub["nodes"] or not hub["error"]))


def _bare_findings(name: str, live: Mapping[str, Any], record: Mapping[str, Any], found: Findings) -> None:
    """What the site's cluster does not have: all pools, or some that the ledger has keys for. Keys of a pool that is removed are leaving."""
    if not live:
        found.problem(name, f"{name}: no SuperNodes are deployed", findings.site_bare(name))
        return
    for pool in dict.fromkeys(key["pool"] for key in record["keys"] if not key.get("leaving")):
        if pool not in live:
            found.problem(name, f"{name}: pool {pool} is not deployed", findings.site_bare(name))


def _bundle_findings(name: str, bundle: Mapping[str, Any], found: Findings) -> None:
    if not bundle["version"]:
        found.problem(name, f"{name}: no bundle was written for it", findings.site_bare(name))
    elif bundle["waits"]:
        words = f"it has answered version {bundle['answered']}" if bundle["answered"] else "it has not answered yet"
        found.warning(name, f"{name}: bundle version {bundle['version']} waits for its reply; {words}", findings.bundle_waits(bundle["next"]))


def _pool(
    name: str,
    live: Mapping[str, Any] | None,
    record: Mapping[str, Any],
    nodes: Mapping[str, Mapping[str, Any]] | None,
    apps: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A pool. C(nodes): those of the SuperLink; None if it is not known which of them are those of this site."""
    own = [key for key in record["keys"] if key["pool"] == name and key["node_id"]]
    used = findings.used_keys(own)
    desired = live["desired"] if live else None
    known = nodes is not None
    nodes = nodes or {}
    found = [nodes[key["node_id"]] for key in own if key["node_id"] in nodes]
    serving = findings.serving_keys(own, nodes)
    online = [node for node in found if node["status"] == "online"]
    # Flower reports when a node went offline, 60 s after its last heartbeat; an online one has reported within that time.
    left = sorted(node["offline-at"] for node in found if node["status"] == "offline" and node["offline-at"] != "N/A")
    return {
        "name": name,
        "kind": live["kind"] if live else None,
        "desired": desired,
        "ready": live["ready"] if live else None,
        # One that leaves does not stand in for another one that is away.
        "online": len(serving & used if used else serving) if known else None,
        "registered": len(found) if known else None,
        "keys": len(used),
        # Nodes of a cluster come and go, and the pods of a DaemonSet with them. A StatefulSet that is smaller was scaled by hand.
        "wanted": desired if live and live["kind"] == DAEMON_SET else max(desired or 0, len(used)),
        "version": live["version"] if live else "",
        "offset": record["pools"].get(name, {}).get("offset"),
        "datasets": _datasets(name, live, record, apps),
        **_promised((record.get("promised") or {}).get(name)),
        "last_seen": "" if not known else "now" if found and len(online) == len(found) else (left[0] if left else "never"),
    }


def _datasets(
    pool: str, live: Mapping[str, Any] | None, record: Mapping[str, Any], apps: Mapping[str, Any] | None
) -> list[str]:
    """What its pods mount, SuperNodes or ClientApps; of a site that does not answer, what the hub knows."""
    if live is None:
        return sorted((record.get("datasets") or {}).get(pool, []))
    return sorted({*live.get("datasets", []), *(apps or {}).get("datasets", [])})


def _promised(found: Mapping[str, int] | None) -> dict[str, Any]:
    """Datasets of a site with a bundle of which it is not known whether they are applied: name -> version of the bundle."""
    return {"promised": dict(found)} if found else {}


def if_applied(version: int) -> str:
    """What is said beside such a dataset."""
    return f"if bundle version {version} is applied"


def _clientapps(apart: Mapping[str, Mapping[str, Any]], pools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """ClientApps in their own pods: there is one for each SuperNode that computes nothing itself, also where they were deleted."""
    needed = {pool["pool"]: pool["desired"] for pool in pools if pool.get("apart") and pool["desired"]}
    none = {"image": "not deployed", "version": "", "desired": 0, "ready": 0}
    rows = [{"pool": pool, **{key: apart.get(pool, none)[key] for key in none}} for pool in dict.fromkeys([*apart, *needed])]
    return [{**row, "desired": max(row["desired"], needed.get(row["pool"], 0))} for row in rows]


def fleet_table(report: Mapping[str, Any]) -> str:
    """The report as lines of text."""
    hub = report["hub"]
    ends = _end(hub["certificate"])
    rows: list[tuple[str, ...]] = [
        (
            hub["cluster"],
            "",
            item["name"],
            f"{item['ready']}/{item['desired']}",
            "",
            hub["version"],
            ends if item["name"] == "superlink" else "",
            "",
            "ok" if item["ready"] >= max(item["desired"], 1) else "not ready",
        )
        for item in hub["workloads"]
    ]
    if not hub["reachable"]:
        rows.append((hub["cluster"], "", "", "", "", hub["version"], ends, "", "unreachable"))
    for site in report["sites"]:
        for pool in site["pools"]:
            rows.append(_row(site, pool))
        if not site["pools"]:
            bundle = site.get("bundle") or {}
            bare = f"bundle {bundle['version']}, not answered" if bundle.get("version") else "nothing deployed"
            state = "unreachable" if not site["reachable"] else "unknown" if bundle and not site["asked"] else bare
            rows.append((site["cluster"], site["region"] or "", "", "", "", "", "", "", state))
    rows += [(name, "", "", "", "", "", "", "", "not in the inventory") for name in report["forgotten"]]
    widths = [max(len(str(row[n])) for row in [_COLUMNS, *rows]) for n in range(len(_COLUMNS))]
    lines = [
        "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [_COLUMNS, *rows]
    ]
    active = [run for run in report["runs"] if not str(run.get("status", "")).startswith("finished")]
    known = f"{hub['partitions']} partitions, {len(active)} active runs" if hub["asked"] else "whether runs are active is not known"
    named = f"federation {hub['federation']}, " if hub.get("federation") else ""
    lines.append(f"{named}address {hub['address'] or 'unknown'}, {known}")
    lines += _lease_lines(hub.get("lease") or {})
    lines += [hub[name] for name in ("upgrade", "rotation", "backup") if hub.get(name)]
    lines += _outputs_lines(hub.get("outputs") or {})
    lines += _dataset_lines(report["sites"])
    lines += _clientapp_lines(report["sites"])
    lines += _proxy_lines(report["sites"])
    lines += _network_lines(report.get("network") or {})
    lines += [f"! {problem}" for problem in report["problems"]]
    return "\n".join(lines + [f"~ {warning}" for warning in report["warnings"]])


def _dataset_lines(sites: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each dataset: which pools of which sites have it."""
    found: dict[str, list[str]] = {}
    for site in sites:
        for pool in site["pools"]:
            place = f"{site['cluster']} {pool['name']}"
            for name in pool.get("datasets") or []:
                found.setdefault(name, []).append(place)
            for name, version in (pool.get("promised") or {}).items():
                found.setdefault(name, []).append(f"{place} ({if_applied(version)})")
    return [f"dataset {name}: {', '.join(pools)}" for name, pools in sorted(found.items())]


def _clientapp_lines(sites: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each image of ClientApps in their own pods: which sites have it, and how many are ready."""
    found: dict[str, list[str]] = {}
    for site in sites:
        for one in site.get("clientapps") or []:
            pool = f"{site['cluster']} {one['pool']} {one['ready']}/{one['desired']}"
            found.setdefault(str(one["image"]), []).append(pool)
    return [f"clientapp {image}: {', '.join(pools)}" for image, pools in sorted(found.items())]


def _proxy_lines(sites: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each HTTP proxy: which sites reach the hub through it."""
    found: dict[str, list[str]] = {}
    for site in sites:
        if site.get("http_proxy"):
            found.setdefault(str(site["http_proxy"]), []).append(str(site["cluster"]))
    return [f"HTTP proxy {address}: {', '.join(names)}" for address, names in sorted(found.items())]


def _network_lines(found: Mapping[str, Any]) -> list[str]:
    """The Skupper network in a line or two."""
    hub = found.get("hub")
    if not hub:
        return []
    linked = ", ".join(f"{name} ({'up' if up else 'down'})" for name, up in hub["linked"].items()) or "none"
    ends = ", ".join(
        f"{word} {_end(one)}"
        for one in hub["certificates"]
        for word in [{"ca": "CA", "server": "router"}.get(one["kind"])]
        if word
    )
    where = ", ".join(hub["site"]["endpoints"]) or "unknown"
    first = f"skupper {hub['site']['controller'] or '?'} at {where}, linked: {linked}, listening: {', '.join(hub['listeners']) or 'none'}"
    links = [
        f"{name} {_end(link)}"
        for name, site in found["sites"].items()
        for link in site.get("links", [])
        if link["not_after"]
    ]
    return [first, f"skupper certificates expire: {ends or 'unknown'}; links: {', '.join(links) or 'unknown'}"]


def _row(site: Mapping[str, Any], pool: Mapping[str, Any]) -> tuple[str, ...]:
    if not site["reachable"]:
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
    ends = _end(site["certificate"])
    return (
        site["cluster"],
        site["region"] or "",
        pool["name"],
        ready,
        online,
        pool["version"],
        ends,
        pool["last_seen"],
        state,
    )
