# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Link (§1, §2): its part of the router's configuration, and what it says of itself."""

from __future__ import annotations

import time

from .conditions import CONFIGURED, OK, OPERATIONAL, error, pending
from .kube import Object
from .space import Space
from .switches import NEVER_OPERATIONAL, on


def configure(space: Space) -> list[Object]:
    """The links that the routers are to hold."""
    assert space.site is not None
    role = "edge" if space.site["spec"].get("edge") else "inter-router"
    found = []
    for item in space.all("Link"):
        if not _due(space, item):
            continue
        # §2b: only the first endpoint of the role counts
        endpoint = next((one for one in item["spec"]["endpoints"] if one.get("name") == role), None)
        if endpoint and not on(item, NEVER_OPERATIONAL):
            found.append(
                {
                    "name": item["metadata"]["name"],
                    "host": endpoint.get("host", ""),
                    "port": endpoint.get("port", ""),
                    "profile": item["spec"].get("tlsCredentials", ""),
                    "cost": item["spec"].get("cost", 1),
                }
            )
    return found


def _due(space: Space, item: Object) -> bool:
    """§2a.8: a new Link waits for the next event, up to 30 s; 2.1 takes it at once."""
    status = space.status(item)
    if status.is_true(CONFIGURED) or space.switches.before_2_2:
        return True
    first = space.links_seen.setdefault(item["metadata"]["uid"], time.monotonic())
    left = first + space.switches.link_delay - time.monotonic()
    if left > 0:
        space.later(left)
        return False
    return True


def tell(space: Space) -> None:
    """Configured, for the Links that have been written to the routers' configuration."""
    for item in space.all("Link"):
        status = space.status(item)
        if space.site is None:
            status.set(CONFIGURED, error("No active site in namespace"))  # §1
        elif _due(space, item):
            status.set(CONFIGURED, OK)


def seen(space: Space, records: list[Object]) -> None:
    """§1: Operational and the remote Site, as the network's status says. A Link that never was up has no condition."""
    by_name = {record["name"]: record for record in records}
    for item in space.all("Link"):
        status = space.status(item)
        record = by_name.get(item["metadata"]["name"])
        if record is None and not status.value.get("remoteSiteId"):
            continue
        if record is not None:
            status.field("remoteSiteId", record["remoteSiteId"])
            status.field("remoteSiteName", record["remoteSiteName"])
        up = record is not None and record.get("operational", False)
        status.set(OPERATIONAL, OK if up else pending("Not operational"))
