# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait, at the hub, until the SuperNodes of sites are online; then unregister those that are leaving."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import partial
from typing import Any

from ..base.errors import ClusterError
from ..flower.cli import FlowerCLI
from ..sites.site import KeyResult
from ..state import access_records, records
from .outcome import Outcomes
from .register import Registry


def wait(hub: Registry, sites: Mapping[str, KeyResult], outcomes: Outcomes) -> dict[str, dict[str, Any]]:
    """Wait for the wanted nodes of sites (name -> its keys), then unregister those that are leaving.

    Returns:
        Site -> C(denied), C(expected), C(online) and C(missing); nothing in check mode. A site of which something cannot be done at the hub fails.

    Raises:
        ClusterError: the SuperLink does not answer, or does not unregister a node.
    """
    # A site with dead keys was not applied: there is nothing to wait for and nothing to remove.
    found, unreadable = hub.ledger.read_sites()
    for name in [name for name in sites if name in unreadable]:
        outcomes.fail(name, unreadable[name])
    known = {name: found[name] for name in sites if name in found and not records.dead_keys(found[name])}
    leaving = {name: records.leaving(record) for name, record in known.items() if records.leaving(record)}
    by_hand = {name for name, site in sites.items() if site.by_hand}
    superseded = {name: record["superseded"] for name, record in known.items() if record.get("superseded") and sites[name].certified}
    if hub.run.check:
        for name in {*(set(leaving) - by_hand), *superseded}:
            outcomes[name].changed = True
        return {}
    denied = {name: record["access"] for name, record in known.items() if record.get("access")}
    expected = {name: _expected(known.get(name), sites[name]) for name in sites}
    _revoke(hub, superseded, outcomes)
    store = hub.client_store()
    if superseded:
        store.publish_and_load()
    cli = FlowerCLI(hub.hub, hub.namespace)
    # The pods of a site whose keys were refused are not brought up to date.
    refused = {name for name, record in known.items() if any(key["fingerprint"] not in record["keys"] for key in sites[name].keys)}
    awaited = [node for name, ids in expected.items() if name not in {*denied, *refused, *by_hand} for node in ids]
    nodes = cli.nodes(awaited, hub.seconds)
    leaving = {name: keys for name in leaving if (keys := records.to_retire(known[name], nodes, by_hand=name in by_hand))}
    _unregister(hub, cli, leaving, nodes, outcomes)
    if leaving:
        store.publish_and_load()
    for name in {*leaving, *superseded}:
        outcomes[name].changed = True
    return {name: _report(expected[name], nodes, denied.get(name)) for name in sites}


def _revoke(hub: Registry, superseded: Mapping[str, list[Any]], outcomes: Outcomes) -> None:
    """Revoke the certificates of keys that sites no longer have; by now they have their new ones."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    for site, old in superseded.items():
        try:
            hub.ledger.change_record(site, lambda record: access_records.revoke_superseded(record, now))
        except ClusterError as error:
            outcomes.fail(site, error.message)
            continue
        serials = map(records.serial_of, old)
        hub.run.note(site, certificates=[{"change": "revoked", "serial": serial} for serial in serials])


def _unregister(
    hub: Registry, cli: FlowerCLI, leaving: Mapping[str, dict[str, dict[str, Any]]], nodes: dict[str, dict[str, Any]], outcomes: Outcomes
) -> None:
    refused = cli.unregister_known({site: [key["node_id"] for key in keys.values()] for site, keys in leaving.items()}, nodes)
    for site, fault in refused.items():
        outcomes.fail(site, fault)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    for site, keys in leaving.items():
        if site in refused:
            continue
        try:
            hub.ledger.change_record(site, partial(records.retire, fingerprints=list(keys), now=now))
        except ClusterError as error:
            outcomes.fail(site, error.message)
            continue
        hub.run.note(site, keys=[records.public_facts(fingerprint, key, "retired") for fingerprint, key in keys.items()])


def _expected(record: records.Record | None, site: KeyResult) -> dict[str, dict[str, Any]]:
    """Node id -> key of the nodes of a site that have a pod to run in."""
    wanted = {key["fingerprint"] for key in site.keys if key["expected"]}
    if record is None:
        return {}
    return {node: key for node, key in records.node_ids(record).items() if key["fingerprint"] in wanted}


def _report(expected: dict[str, dict[str, Any]], nodes: dict[str, dict[str, Any]], denied: dict[str, Any] | None) -> dict[str, Any]:
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
