# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What a cloud does for a cluster: addresses for Services of type LoadBalancer, and extended resources on the node.

Runs as a supervised process of the cluster: ``python -m flower_fleet.clusters.agent STATE NAME SUBNET``.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..settings import Cluster
from ..settings import cluster as plan
from .api import Api, ApiError

RESYNC = 30  # seconds a watch lasts; everything is compared again after it
# The API server chooses: a Service that stops being one of these arrives as deleted, and none other is ever sent.
SERVICES = "/api/v1/services?fieldSelector=spec.type%3DLoadBalancer"


def assign(services: Sequence[dict[str, Any]], pool: Sequence[str]) -> dict[str, str]:
    """Addresses for all Services that want one: namespace/name -> address.

    Services keep what they have; others get the address they ask for (spec.loadBalancerIP) if it is free and in the
    pool, else the first free one; with the pool empty they get none.
    """
    wanting = [
        item
        for item in services
        if item["spec"].get("type") == "LoadBalancer"
        and not item["spec"].get("loadBalancerClass")
        and not item["metadata"].get("deletionTimestamp")
    ]
    given: dict[str, str] = {}
    for item in wanting:
        for entry in item.get("status", {}).get("loadBalancer", {}).get("ingress") or []:
            if entry.get("ip") in pool and entry["ip"] not in given.values():
                given[_name(item)] = entry["ip"]
                break
    for item in sorted(wanting, key=lambda item: (item["metadata"]["creationTimestamp"], _name(item))):
        free = [address for address in pool if address not in given.values()]
        asked = item["spec"].get("loadBalancerIP")
        if _name(item) not in given and free:
            given[_name(item)] = asked if asked in free else free[0]
    return given


def _name(item: dict[str, Any]) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def addresses() -> set[str]:
    """Addresses on the node's link."""
    listing = json.loads(
        subprocess.run(
            ["ip", "-j", "-4", "addr", "show", "dev", "eth0"], check=True, text=True, capture_output=True
        ).stdout
    )
    return {entry["local"] for link in listing for entry in link.get("addr_info", [])}


def balance(api: Api, cluster: Cluster) -> None:
    """Give and take addresses so that they fit the Services that there are."""
    services = api.request("GET", SERVICES)["items"]
    pool = cluster.load_balancer_ips
    given = assign(services, pool)
    have = addresses() & set(pool)
    for address in set(given.values()) - have:
        subprocess.run(["ip", "addr", "add", f"{address}/32", "dev", "eth0"], check=True)
    for address in have - set(given.values()):
        subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", "eth0"], check=True)
    for item in services:
        if _name(item) not in given:
            continue
        ingress = [{"ip": given[_name(item)], "ipMode": "VIP"}]
        if item.get("status", {}).get("loadBalancer", {}).get("ingress") != ingress:
            space, name = item["metadata"]["namespace"], item["metadata"]["name"]
            try:
                api.patch(
                    f"/api/v1/namespaces/{space}/services/{name}/status",
                    {"status": {"loadBalancer": {"ingress": ingress}}},
                )
            except ApiError as error:
                if error.status != 404:
                    raise


def advertise(api: Api, cluster: Cluster) -> None:
    """Put the extended resources on the node; a restarted kubelet may have reset them."""
    if not cluster.extended_resources:
        return
    node = api.request("GET", f"/api/v1/nodes/{cluster.name}")
    wanted = dict(cluster.extended_resources)
    have = node.get("status", {})
    if any(
        have.get(part, {}).get(name) != amount
        for part in ("capacity", "allocatable")
        for name, amount in wanted.items()
    ):
        api.patch(f"/api/v1/nodes/{cluster.name}/status", {"status": {"capacity": wanted, "allocatable": wanted}})


def main(arguments: Sequence[str]) -> None:
    """Serve until killed."""
    state, name, subnet = arguments
    cluster = plan(name, ipaddress.IPv4Network(subnet))
    api = Api(cluster, Path(state) / "pki")
    while True:
        try:
            advertise(api, cluster)
            balance(api, cluster)
            for _event in api.watch(SERVICES, RESYNC):
                balance(api, cluster)
        except (OSError, ApiError, ValueError) as error:
            print(f"{time.strftime('%T')} {type(error).__name__}: {error}", flush=True)
            time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1:])
