# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys that the pools of a site need, and which of them a running pod is expected for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..base.certificate_names import listener_certificate_name
from ..kube import nodes
from ..site_keys import keys
from ..spec.site_spec import SiteSpec

Ready = dict[str, set[str]]


def wanted(
    site: str,
    spec: SiteSpec,
    allocation: Mapping[str, Any],
    dead: Sequence[str],
    list_nodes: Callable[[], list[dict[str, Any]]],
    running_on: Callable[[str], Collection[str]] = lambda pool: (),
) -> tuple[keys.Wanted, Ready]:
    """What a site must have, and pool -> names of the keys that a pod is expected to run with.

    Args:
        site: inventory name, which is the name in its client certificate.
        allocation: pool -> C(offset), from the ledger.
        dead: fingerprints of keys that Flower takes no more.
        list_nodes: gives the site's nodes; called for DaemonSet pools only.
        running_on: gives names of the nodes on which a pool has a pod.
    """
    # Without TLS Flower has no node authentication, so a lab without it has no keys.
    pools, ready = ([], {}) if spec.insecure else _pools(spec, allocation, list_nodes, running_on)
    door = listener_certificate_name(spec.namespace) if spec.has_apps_apart else ""
    return keys.Wanted(pools, dead, site if spec.shows_certificate else "", door), ready


def away(spec: SiteSpec, found: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """DaemonSet pool -> names of its nodes that are not ready; pools without such nodes are not in it.

    Args:
        spec: of the site.
        found: the site's nodes.
    """
    result = {}
    for pool in spec.pools:
        chosen = nodes.eligible(found, pool.node_selector, pool.tolerations, pool.affinity) if pool.is_daemon else []
        if names := [node["metadata"]["name"] for node in chosen if not nodes.is_ready(node)]:
            result[pool.name] = names
    return result


def _pools(
    spec: SiteSpec,
    allocation: Mapping[str, Any],
    list_nodes: Callable[[], list[dict[str, Any]]],
    running_on: Callable[[str], Collection[str]],
) -> tuple[list[keys.Pool], Ready]:
    pools: list[keys.Pool] = []
    ready: Ready = {}
    found: list[dict[str, Any]] | None = None
    for pool in spec.pools:
        name = pool.name
        if pool.is_daemon:
            found = list_nodes() if found is None else found
            rules = (pool.node_selector, pool.tolerations, pool.affinity)
            running = running_on(name) if nodes.closed(found, *rules) else ()
            chosen = nodes.eligible(found, *rules, running)
            pools.append(keys.Pool(name, [node["metadata"]["name"] for node in chosen]))
            ready[name] = {node["metadata"]["name"] for node in chosen if nodes.is_ready(node)}
        else:
            offset = int(allocation.get(name, {}).get("offset", 0))
            names = [str(offset + number) for number in range(pool.replicas)]
            pools.append(keys.Pool(name, names, offset))
            ready[name] = set(names)
    return pools, ready
