# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Who sees whom (§7): the ConfigMap ``skupper-network-status`` of each Site, made of what all routers tell.

The real one is written by a router's kube-adaptor from what passes over the network; here the controller, which sees
all clusters, puts it together. What Links, Listeners and Connectors say comes from that ConfigMap alone.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from .kube import Object
from .space import Space, owner

NAME = "skupper-network-status"
KEY = "NetworkStatus"


@dataclass
class SiteView:
    """One Site with what its routers tell."""

    uid: str
    name: str
    namespace: str
    version: str
    routers: list[Object] = field(default_factory=list)
    without_pods: set[tuple[str, str]] = field(default_factory=set)  # what its Connectors have lost together with their pods


def gather(spaces: list[Space]) -> list[SiteView]:
    """All active Sites of all clusters; a router counts while its pod is there."""
    found = []
    for space in spaces:
        if space.site is None:
            continue
        data = space.site["metadata"]
        view = SiteView(data["uid"], data["name"], space.name, space.switches.version)
        for item in space.all("ConfigMap"):
            if (item["metadata"].get("labels") or {}).get("internal.skupper.io/standin") != "state":
                continue
            state = _outward(json.loads(item["data"]["state.json"]), data["uid"])
            if state.get("site", {}).get("id") == data["uid"] and space.get("Pod", state["pod"]):
                view.routers.append(state)
        lost = [one for one in space.all("Connector") if not one["spec"].get("host") and not (one.get("status") or {}).get("selectedPods")]
        view.without_pods = {("connectors", one["spec"]["routingKey"]) for one in lost}
        if view.routers:
            found.append(view)
    return found


def _outward(state: Object, uid: str) -> Object:
    """What a router tells, without its connections to another router of its own Site."""
    links = [link for link in state.get("links", []) if link["remoteSite"] != uid]
    return {**state, "links": links, "inbound": [one for one in state.get("inbound", []) if one != uid]}


def neighbours(views: list[SiteView]) -> dict[str, set[str]]:
    """Sites that are linked: both ends must say so."""
    inbound = {view.uid: {uid for state in view.routers for uid in state["inbound"]} for view in views}
    found: dict[str, set[str]] = {view.uid: set() for view in views}
    for view in views:
        for state in view.routers:
            for link in state["links"]:
                other = link["remoteSite"]
                if link["status"] == "up" and view.uid in inbound.get(other, ()):
                    found[view.uid].add(other)
                    found[other].add(view.uid)
    return found


def status_for(uid: str, views: list[SiteView]) -> Object:
    """What the routers of one Site know of the network: all Sites that it reaches, itself first."""
    near = neighbours(views)
    order, queue = [], [uid] if uid in near else []
    while queue:
        order.append(queue.pop(0))
        queue += sorted(near[order[-1]] - {*order, *queue})
    by_uid = {view.uid: view for view in views}
    return {"siteStatus": [_site_status(by_uid[one], near[one]) for one in order]}


def _site_status(view: SiteView, near: set[str]) -> Object:
    routers = []
    for state in view.routers:
        links = [
            {
                "name": link["name"],
                "peer": _access_point(link["remoteSite"]) if link["remoteSite"] else "",
                "status": "up" if link["status"] == "up" and link["remoteSite"] in near else "down",
            }
            for link in state["links"]
        ]
        routers.append(
            {
                "router": {"name": f"0/{view.name}-{state['pod']}", "namespace": view.namespace},
                "routerAccess": [{"identity": _access_point(view.uid)}],
                "links": links,
                "connectors": [{"address": one["key"], "destHost": one["host"]} for one in state["connectors"]],
                "listeners": [
                    {"name": one["name"], "address": key} for one in state["listeners"] for key in one["keys"]
                ],
            }
        )
    site = {
        "identity": view.uid,
        "name": view.name,
        "namespace": view.namespace,
        "platform": "kubernetes",
        "version": view.version,
    }
    return {"site": site, "routerStatus": routers}


def _access_point(uid: str) -> str:
    return f"ap-{uid}"


def publish(space: Space, views: list[SiteView]) -> None:
    """Write the Site's ConfigMap, unless it is frozen."""
    assert space.site is not None
    status = status_for(space.site["metadata"]["uid"], views)
    have = space.get("ConfigMap", NAME)
    if not status["siteStatus"] or space.switches.network == "frozen":
        return
    if have is not None:
        status = {"siteStatus": _late(space, json.loads(have["data"][KEY])["siteStatus"], status["siteStatus"], views)}
    data = {KEY: json.dumps(status, sort_keys=True)}
    if have is None:
        router = space.client.get("Deployment", space.name, "skupper-router")
        if router is None:
            return
        metadata = {"name": NAME, "ownerReferences": [owner({"apiVersion": "apps/v1", "kind": "Deployment", **router})]}
        space.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    elif have.get("data") != data:
        space.replace({**have, "data": data})


def _late(space: Space, before: list[Object], now: list[Object], views: list[SiteView]) -> list[Object]:
    """§7: what is new is told at once, what other Sites have lost only after a while, but for connectors whose pods are not ready any more.

    A router that was replaced knows nothing of others: then what it tells shrinks at once.
    """
    assert space.site is not None
    uid = space.site["metadata"]["uid"]
    old, new = ({one["site"]["identity"]: one for one in listed} for listed in (before, now))
    if _routers(old.get(uid)) != _routers(new.get(uid)):
        space.missed.clear()
        return now
    found, time_now = dict(new), time.monotonic()
    at_once = {view.uid: view.without_pods for view in views}
    for one, entry in old.items():
        if one == uid or _holds(entry) - at_once.get(one, set()) <= _holds(new.get(one)):
            space.missed.pop(one, None)
            continue
        left = space.missed.setdefault(one, time_now) + space.switches.staleness - time_now
        if left > 0:
            found[one] = entry
            space.later(left)
    space.missed = {one: since for one, since in space.missed.items() if one in old}
    return list(found.values())


def _routers(entry: Object | None) -> list[str]:
    return sorted(one["router"]["name"] for one in (entry or {}).get("routerStatus", []))


def _holds(entry: Object | None) -> set[tuple[str, str]]:
    """What of a Site matters to others: that it is there, its links that are up, addresses that it serves or listens to."""
    if entry is None:
        return set()
    found = {("site", entry["site"]["identity"])}
    for router in entry["routerStatus"]:
        found |= {("link", one["name"]) for one in router["links"] if one["status"] == "up"}
        found |= {(kind, one["address"]) for kind in ("connectors", "listeners") for one in router[kind]}
    return found


def records(space: Space) -> list[Object]:
    """Site.status.network, read from the ConfigMap. A link whose other end nobody knows is left out."""
    have = space.get("ConfigMap", NAME)
    if have is None:
        return []
    sites: list[Any] = json.loads(have["data"][KEY])["siteStatus"]
    points = {
        point["identity"]: one["site"]
        for one in sites
        for router in one["routerStatus"]
        for point in router.get("routerAccess", [])
    }
    found = []
    for one in sites:
        site = one["site"]
        record: Object = {"id": site["identity"], "name": site["name"]}
        record.update({key: site[key] for key in ("namespace", "platform", "version") if site.get(key)})
        links: dict[str, Object] = {}
        services: dict[str, Object] = {}
        for router in one["routerStatus"]:
            for link in router.get("links", []):
                other = points.get(link.get("peer", ""))
                if not other or links.get(link["name"], {}).get("operational"):
                    continue
                links[link["name"]] = {
                    "name": link["name"],
                    "remoteSiteId": other["identity"],
                    "remoteSiteName": other["name"],
                    **({"operational": True} if link["status"].lower() == "up" else {}),
                }
            for kind, name in (("connectors", "destHost"), ("listeners", "name")):
                for binding in router.get(kind, []):
                    service = services.setdefault(binding["address"], {"routingKey": binding["address"]})
                    if binding[name] not in service.setdefault(kind, []):
                        service[kind].append(binding[name])
        if links:
            record["links"] = [links[name] for name in sorted(links)]
        if services:
            record["services"] = [services[key] for key in sorted(services)]
        found.append(record)
    return found
