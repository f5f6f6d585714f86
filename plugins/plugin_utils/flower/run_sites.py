# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sites had SuperNodes online during a run. Flower does not say which of them an app chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import formats
from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden
from ..state import site_indexes
from ..state.ledger import NODES, Ledger
from ..state.records import serving_ids
from .cli import FlowerCLI


def read(cli: FlowerCLI, run: Mapping[str, Any]) -> list[str]:
    """Names of the sites of a run (an entry of C(run_table)); none where they cannot be known."""
    known = homes(cli)
    try:
        return during(cli.nodes(), known, run) if known else []
    except ClusterError:
        return []  # it adds to the record of outputs, which is made without it as well


def homes(cli: FlowerCLI) -> dict[str, str]:
    """Node id -> site; empty where that cannot be known."""
    try:
        return read_places(cli)[0]
    except ClusterError:
        return {}  # messages name the nodes then


def read_places(cli: FlowerCLI) -> tuple[dict[str, str], dict[str, str]]:
    """Node id -> site; and site -> its region, empty for none. Data scientists may read an index only."""
    ledger = Ledger(cli.cluster, cli.namespace, "", check=True)
    try:
        records, _unreadable = ledger.read_sites()
    except Forbidden:
        index = ledger.read(NODES)
        return site_indexes.sites_by_node(index), site_indexes.regions(index)
    places = {site: str(record.get("region") or "") for site, record in records.items()}
    return {node: site for site, record in records.items() for node in serving_ids(record)}, places


def during(nodes: Mapping[str, Mapping[str, Any]], homes: Mapping[str, str], run: Mapping[str, Any]) -> list[str]:
    """Sites with a SuperNode that was online at some time of the run. C(homes): node id -> site. Pure."""
    start, end = formats.moment(run.get("running_at")), formats.moment(run.get("finished_at"))
    found = set()
    for node in nodes.keys() & homes.keys():
        came, left = formats.moment(nodes[node].get("online-at")), formats.moment(nodes[node].get("offline-at"))
        stayed = nodes[node].get("status") == "online" or (left is not None and start is not None and left >= start)
        if came is not None and (end is None or came <= end) and stayed:
            found.add(homes[node])
    return sorted(found)
