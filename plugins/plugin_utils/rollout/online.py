# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait, at the hub, until the SuperNodes of sites are online; then unregister those that are leaving."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..flower.cli import FlowerCLI, FlowerError
from ..hub.client_store import ClientStore
from ..ledger import access, records
from ..reach.site import KeysMade
from .register import Registry


@dataclass
class Online:
    """Outcome of C(wait).

    Attributes:
        changed: sites of which a SuperNode was unregistered, or a certificate revoked.
        sites: site -> C(denied), C(expected), C(online) and C(missing); none in check mode.
        msg: a sentence.
    """

    changed: set[str] = field(default_factory=set)
    sites: dict[str, dict[str, Any]] = field(default_factory=dict)
    msg: str = ""


def wait(hub: Registry, sites: Mapping[str, KeysMade]) -> Online:
    """Wait for the wanted nodes, then unregister those that are leaving.

    Args:
        hub: ledger and SuperLink.
        sites: site -> its keys.

    Raises:
        ClusterError: the SuperLink does not answer, or does not unregister a node.
    """
    # A site with dead keys was not applied: it has neither what to wait for nor what to take from it.
    known = {
        name: record
        for name, record in hub.ledger.read_records().items()
        if name in sites and not records.dead_keys(record)
    }
    leaving = {name: records.leaving(record) for name, record in known.items() if records.leaving(record)}
    superseded = {name: record["superseded"] for name, record in known.items() if record.get("superseded")}
    changed = {*leaving, *superseded}
    if hub.run.check:
        return Online(changed, msg=f"{sum(map(len, leaving.values()))} nodes to unregister")
    denied = {name: record["access"] for name, record in known.items() if record.get("access")}
    expected = {name: _expected(known.get(name), sites[name]) for name in sites}
    _revoke(hub, superseded)
    store = ClientStore(hub.hub, hub.namespace, hub.ledger, note=hub.run.note)
    if superseded:
        store.bring()
    cli = FlowerCLI(hub.hub, hub.namespace)
    awaited = [node for name, found in expected.items() if name not in denied for node in found]
    nodes = cli.nodes(awaited, hub.seconds)
    _unregister(hub, cli, leaving, nodes)
    if leaving:
        store.bring()
    report = {name: _report(expected[name], nodes, denied.get(name)) for name in sites}
    online = sum(site["online"] for site in report.values())
    wanted = sum(site["expected"] for site in report.values())
    gone = sum(map(len, leaving.values()))
    return Online(changed, report, f"{online} of {wanted} SuperNodes online, {gone} unregistered")


def _revoke(hub: Registry, superseded: Mapping[str, list[str]]) -> None:
    """Take back the certificates of keys that sites no longer have; by now they hold their new ones."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    for site, serials in superseded.items():
        hub.ledger.change_record(site, lambda record: access.revoke_superseded(record, now))
        hub.run.note(site, certificates=[{"change": "revoked", "serial": serial} for serial in serials])


def _unregister(
    hub: Registry,
    cli: FlowerCLI,
    leaving: Mapping[str, dict[str, dict[str, Any]]],
    nodes: Mapping[str, Mapping[str, Any]],
) -> None:
    gone = [
        key["node_id"]
        for keys in leaving.values()
        for key in keys.values()
        if key["node_id"] and nodes.get(key["node_id"], {}).get("status", "unregistered") != "unregistered"
    ]
    for node, answer in zip(gone, cli.unregister(gone)):
        if not answer.ok:
            raise FlowerError(f"the SuperLink on {cli.cluster.name} cannot unregister node {node}: {answer.message}")
    for site, keys in leaving.items():
        hub.ledger.change_record(site, lambda record, gone=list(keys): records.retire(record, gone))
        hub.run.note(
            site, keys=[records.public_facts(fingerprint, key, "retired") for fingerprint, key in keys.items()]
        )


def _expected(record: records.Record | None, site: KeysMade) -> dict[str, dict[str, Any]]:
    """Node id -> key of the nodes of a site that have a pod to run in."""
    wanted = {key["fingerprint"] for key in site.keys if key["expected"]}
    if record is None:
        return {}
    return {node: key for node, key in records.node_ids(record).items() if key["fingerprint"] in wanted}


def _report(
    expected: dict[str, dict[str, Any]], nodes: dict[str, dict[str, Any]], denied: dict[str, Any] | None
) -> dict[str, Any]:
    status = {node: nodes.get(node, {}).get("status", "unknown to the SuperLink") for node in expected}
    return {
        "denied": denied or {},
        "expected": len(expected),
        "online": sum(value == "online" for value in status.values()),
        "missing": [
            {"pool": key["pool"], "name": key["name"], "node_id": node, "status": status[node]}
            for node, key in expected.items()
            if status[node] != "online"
        ],
    }
