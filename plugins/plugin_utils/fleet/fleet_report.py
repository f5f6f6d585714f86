# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fleet in one report, a dict for machines. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import formats
from ..base.object_names import GATEWAY_SECRET
from ..ocm import health
from ..skupper import network
from ..spec.site_spec import DAEMON_SET
from . import findings
from .findings import Findings

# How early the expiry of a certificate in the Skupper network is a problem: only the playbooks renew it.
_SOON = datetime.timedelta(days=30)
_NETWORK = f"{findings.SITE} repairs links and listeners and renews their certificates. What then remains is in the guide on Skupper."
# Certificates that are valid for no longer are shown with the minute of their end.
_BRIEF = datetime.timedelta(days=7)
_LIVE = ("kind", "desired", "ready", "version")  # of a workload


def fleet_report(
    hub_name: str,
    hub: Mapping[str, Any],
    sites: Mapping[str, Mapping[str, Any]],
    known: Sequence[str] | None = None,
    maintenance: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Combine the results of hub and sites.

    Args:
        hub_name: inventory name of the hub.
        hub: result of M(federated.flower.superlink_info).
        sites: inventory name -> result of M(federated.flower.supernode_info), for the checked sites.
        known: all sites of the inventory; C(sites) by default. Sites of the ledger that are not among them are I(forgotten).
        maintenance: site -> until when one of its maintenance windows is open, of the sites that have such a window.

    Returns:
        C(healthy) (bool), C(hub) (dict; C(asked): whether the SuperLink has listed SuperNodes and runs, C(well): it answers, and all of it
        is ready), C(sites) (list of dicts, one per site, with C(pools) (C(keys): how many SuperNodes the ledger has, C(wanted): how many
        should be online), C(access), C(certificate), C(clientapps) (those in their own pods), C(http_proxy) (the address of the one on its
        way to the hub, or empty), C(asked) (whether it is known which of its SuperNodes are online; if not, C(online) of its pools is None)
        and C(ocm), which is empty for a site that is reached directly), C(network) (dict: C(hub) and C(sites) of the Skupper network; empty
        without one), C(forgotten) (list of names), C(unknown_nodes) (list of node ids), C(runs) and C(schedules) (lists), C(problems) and C(warnings) (lists
        of sentences), C(findings) (both with their remedies, as C(findings.Finding)).
    """
    known = list(sites) if known is None else list(known)
    now = datetime.datetime.now(datetime.timezone.utc)
    found = Findings()
    findings.add_hub(hub_name, hub, found, now)
    listed = [_site(name, {**sites[name], "maintenance": (maintenance or {}).get(name, "")}, hub, found, now) for name in sites]
    if hub.get("insecure") and findings.has_answered(hub):
        findings.add_nameless(hub_name, hub, listed, found)
    forgotten = sorted(set(hub["sites"]) - set(known))
    for name in forgotten:
        remedy = f"-e flower_forget_sites={name} unregisters its SuperNodes and frees its partitions"
        found.problem(name, f"{name} is not in the inventory, but still in the ledger", remedy, with_remedy=True)
    joined = {name: site.get("network") or {} for name, site in sites.items() if site.get("skupper") and site["reachable"]}
    around = hub.get("network") or {}
    if hub["reachable"] and joined:
        for text in network.problems(hub_name, around, joined, now, _SOON):
            first = text.partition(":")[0]
            found.problem(first if first in sites else "", text, _NETWORK)
    # Any of them may be one of a site whose record is lost, and unregistering is for good.
    for node in hub["unknown_nodes"] if all(name in hub["sites"] for name, site in sites.items() if site["workloads"]) else ():
        remedy = "`flwr supernode unregister` in the SuperLink's pod removes it if it is not used"
        found.problem("", f"node {node} is registered at the SuperLink, but not in the ledger", remedy, with_remedy=True)
    findings.add_runs(hub["runs"], found, now)
    findings.add_schedules(hub.get("schedules") or [], found)
    return {
        "healthy": not found.problems,
        "hub": {
            "cluster": hub_name,
            "federation": hub.get("federation") or "",
            "reachable": hub["reachable"],
            "asked": findings.has_answered(hub),
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
        "schedules": list(hub.get("schedules") or []),
        "problems": found.problems,
        "warnings": found.warnings,
        "findings": found.facts(),
    }


def _backup(hub: Mapping[str, Any], now: datetime.datetime) -> str:
    """How old the last backup of a hub is, in words; empty if that is not known."""
    if not findings.has_answered(hub) or "backup" not in hub:
        return ""
    at = formats.moment(hub["backup"].get("at"))
    if at is None:
        return "no backup of the hub is recorded"
    days = (now - at).days
    return f"the last backup of the hub was made on {at.isoformat()[:16]}, {f'{days} days' if days > 1 else 'a day' if days else 'less than a day'} ago"


def _rotation(hub: Mapping[str, Any]) -> str:
    """How far a rotation of the federation's own CA is that is not complete, as the CA bundle of the sites shows it; empty if there is none."""
    signs, trust = hub["certificate"].get("ca") or {}, hub["trust"]
    if hub["certificate"].get("secret") != GATEWAY_SECRET or len(trust) != 2 or not signs:
        return ""
    (other,) = [one for one in trust if any(one[key] != signs[key] for key in signs)] or [signs]
    if other["not_before"] > signs["not_before"]:
        return f"a rotation of the CA is adding the one that ends on {end_of(other)}: federated.flower.rotate_certs continues it"
    return (
        f"a rotation of the CA has switched, and sites still trust the previous one, which ends on {end_of(other)}: after cert_rotation_grace, "
        "federated.flower.rotate_certs removes it and completes the rotation"
    )


def end_of(certificate: Mapping[str, Any]) -> str:
    """When a certificate ends: the day, or the minute (UTC) where it is valid for a few days only and several end on one day."""
    start, end = formats.moment(certificate.get("not_before") or ""), formats.moment(certificate.get("not_after") or "")
    brief = start and end and end - start <= _BRIEF
    return str(certificate.get("not_after", ""))[: 16 if brief else 10].replace("T", " ")


def _site(name: str, site: Mapping[str, Any], hub: Mapping[str, Any], found: Findings, now: datetime.datetime) -> dict[str, Any]:
    record = hub["sites"].get(name, {"region": None, "keys": [], "pools": {}})
    live = {item["pool"]: item for item in site["workloads"]}
    has_answered = findings.has_answered(hub)
    is_lost = has_answered and live and name not in hub["sites"]
    asked = bool(has_answered and not record.get("fault") and not hub.get("insecure") and not is_lost)
    apart = {item["pool"]: item for item in site.get("clientapps") or []}
    names = dict.fromkeys([*live, *(key["pool"] for key in record["keys"])])
    pools = [_pool(pool, live.get(pool), record, hub["nodes"] if asked else None, apart.get(pool)) for pool in names]
    if site.get("bundle"):
        for pool in pools:  # a key and its successor are those of one SuperNode
            pool["registered"] = pool["wanted"] = len({key["name"] for key in record["keys"] if key["pool"] == pool["name"] and key["node_id"]})
    # ClientApps in their own pods: there is one for each SuperNode that computes nothing itself, also where they were deleted.
    needed = {pool["pool"]: pool["desired"] for pool in site["workloads"] if pool.get("apart") and pool["desired"]}
    none = {"image": "not deployed", "version": "", "desired": 0, "ready": 0}
    apps = [{"pool": pool, **{key: apart.get(pool, none)[key] for key in none}} for pool in dict.fromkeys([*apart, *needed])]
    for one in apps:
        one["desired"] = max(one["desired"], needed.get(one["pool"], 0))
    shown = {
        "cluster": name,
        **({"bundle": site["bundle"]} if site.get("bundle") else {}),
        "region": record["region"],
        "reachable": site["reachable"],
        "asked": asked,
        "access": record.get("access") or {},
        "maintenance": site["maintenance"],
        "certificate": record.get("client") or {},
        "pools": pools,
        "clientapps": apps,
        "http_proxy": site.get("http_proxy") or "",
        "ocm": health.with_nodes(site.get("ocm") or {}, sum(pool["online"] for pool in pools) if asked else None),
    }
    findings.add_site(name, site, shown, record, hub, found, now)
    return shown


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
    known = nodes is not None
    nodes = nodes or {}
    found = [nodes[key["node_id"]] for key in own if key["node_id"] in nodes]
    serving = findings.serving_keys(own, nodes)
    online = [node for node in found if node["status"] == "online"]
    # Flower reports when a node went offline, 60 s after its last heartbeat; an online one has reported within that time.
    left = sorted(node["offline-at"] for node in found if node["status"] == "offline" and node["offline-at"] != "N/A")
    shown = {"kind": None, "desired": None, "ready": None, "version": "", **{key: value for key, value in (live or {}).items() if key in _LIVE}}
    # What its pods mount, SuperNodes or ClientApps; of a site that does not answer, what the hub knows.
    mounted = {*(live or {}).get("datasets", []), *(apps or {}).get("datasets", [])} if live else (record.get("datasets") or {}).get(name, [])
    promised = (record.get("promised") or {}).get(name)
    return {
        "name": name,
        **shown,
        # One that leaves does not stand in for another one that is away.
        "online": len(serving & used if used else serving) if known else None,
        "registered": len(found) if known else None,
        "keys": len(used),
        # Nodes of a cluster come and go, and the pods of a DaemonSet with them. A StatefulSet that is smaller was scaled by hand.
        "wanted": shown["desired"] if shown["kind"] == DAEMON_SET else max(shown["desired"] or 0, len(used)),
        "offset": record["pools"].get(name, {}).get("offset"),
        "datasets": sorted(mounted),
        # Datasets of a site with a bundle of which it is not known whether they are applied: name -> version of the bundle.
        **({"promised": dict(promised)} if promised else {}),
        "last_seen": "" if not known else "now" if found and len(online) == len(found) else (left[0] if left else "never"),
    }


def datasets_of(pool: Mapping[str, Any]) -> list[str]:
    """The datasets of a pool, for people."""
    promised = pool.get("promised") or {}
    return [*(pool.get("datasets") or []), *(f"{name} (if bundle version {version} is applied)" for name, version in promised.items())]
