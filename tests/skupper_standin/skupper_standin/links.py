# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Link (§1, §2): its part of the router's configuration, and what it says of itself."""

from __future__ import annotations

import json

from .conditions import CONFIGURED, OK, OPERATIONAL, error, pending
from .kube import Object
from .space import Space, form_of
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


def leave_behind(space: Space) -> None:
    """§1: Links that a former Site had configured never reach the router of a new one, unless someone changes them."""
    assert space.site is not None
    if space.switches.before_2_2:
        return
    config = space.get("ConfigMap", "skupper-router")
    given = json.loads(config["data"]["router.json"]) if config else {}
    is_own = given.get("site", {}).get("id") == space.site["metadata"]["uid"]
    known = {one["name"] for one in given["links"]} if is_own else set()
    for item in space.all("Link"):
        if space.status(item).is_true(CONFIGURED) and item["metadata"]["name"] not in known:
            space.left_behind[item["metadata"]["uid"]] = form_of(item)


def _is_left_behind(space: Space, item: Object) -> bool:
    uid = item["metadata"]["uid"]
    if space.left_behind.get(uid, form_of(item)) != form_of(item):
        del space.left_behind[uid]
    return uid in space.left_behind


def _due(space: Space, item: Object) -> bool:
    """§2a.8: a new Link waits for the next event, up to 30 s, or until someone changes it; 2.1 takes it at once."""
    if _is_left_behind(space, item):
        return False
    status = space.status(item)
    return status.is_true(CONFIGURED) or space.switches.before_2_2 or not space.waits(item, space.switches.link_delay)


def tell(space: Space) -> None:
    """Configured, for the Links that have been written to the routers' configuration. §1: without a Site it stays as it was."""
    for item in space.all("Link"):
        status = space.status(item)
        if space.site is None:
            if status.is_true(CONFIGURED):
                continue
            status.set(CONFIGURED, error("No active site in namespace"))  # §1
        elif _due(space, item):
            status.set(CONFIGURED, OK)


def seen(space: Space, records: list[Object]) -> None:
    """§1: Operational and the remote Site, as the network's status says. A Link that never was up has no condition."""
    by_name = {record["name"]: record for record in records}
    for item in space.all("Link"):
        status = space.status(item)
        record = by_name.get(item["metadata"]["name"])
        if _is_left_behind(space, item) or (record is None and not status.value.get("remoteSiteId")):
            continue
        if record is not None:
            status.field("remoteSiteId", record["remoteSiteId"])
            status.field("remoteSiteName", record["remoteSiteName"])
        up = record is not None and record.get("operational", False)
        status.set(OPERATIONAL, OK if up else pending("Not operational"))
