# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Listener, MultiKeyListener, Connector, AttachedConnector and its binding (§1, §4)."""

from __future__ import annotations

from collections.abc import Iterable

from .conditions import CONFIGURED, MATCHED, OK, OPERATIONAL, Status, error, ok_or, pending
from .kube import ApiError, Object
from .site import SELECTOR
from .space import CONTROLLED, Space
from .switches import NEVER_MATCHED, on

LABEL = "internal.skupper.io/listener"
FIRST_PORT = 1024  # §4: routers' ports are given from here on
LISTENING = ("Listener", "MultiKeyListener")
EMPTIED = "No pods match selector"
NO_SITE = "No active site in namespace"  # §1


def without_site(space: Space) -> None:
    """§1: what a namespace without a Site says of its bindings."""
    for kind in (*LISTENING, "Connector", "AttachedConnectorBinding"):
        for item in space.all(kind):
            space.status(item).set(CONFIGURED, error(NO_SITE))


def keys_of(item: Object) -> list[str]:
    """Routing keys of a listener, the first choice first."""
    strategy = item["spec"].get("strategy")
    if strategy is None:
        return [item["spec"]["routingKey"]]
    if "priority" in strategy:
        return list(strategy["priority"]["routingKeys"])
    weights = strategy["weighted"]["routingKeys"]
    return sorted(weights, key=lambda key: -weights[key])


# --- listeners


def listen(space: Space, before: Object, taken: Iterable[int]) -> list[Object]:
    """The routers' listeners, and the Services of their hosts; ``before`` is the last configuration."""
    ports = {one["name"]: one["port"] for one in before.get("listeners", [])}  # §4: stable, kept over a restart
    used = {*ports.values(), *taken, 5671, 5672, 9090}
    found: list[Object] = []
    hosts: dict[str, dict[str, Object]] = {}
    places: dict[tuple[str, int], str] = {}
    for kind in LISTENING:
        # §4: the first one that was processed has host and port. Of several that are new the older one may lose, as here.
        new, known = [], []
        for item in space.all(kind):
            (known if space.places.get(_place(item)) == _name(item) else new).append(item)
        for item in known + new[::-1]:
            name, (host, port) = _name(item), _place(item)
            trouble = _foreign(space, host) or _twice(space, places, host, port, name)
            space.status(item).set(CONFIGURED, ok_or(trouble))
            if trouble:
                continue
            places[host, port] = name
            if name not in ports:
                ports[name] = next(one for one in range(FIRST_PORT, 65536) if one not in used)
                used.add(ports[name])
            found.append({"name": name, "keys": keys_of(item), "port": ports[name]})
            exposed = {"name": name, "port": port, "targetPort": ports[name], "protocol": "TCP"}
            hosts.setdefault(host, {})[name] = exposed
    space.places = places
    for host, exposed_ports in hosts.items():
        _expose(space, host, exposed_ports)
    for service in space.all("Service"):
        if LABEL in (service["metadata"].get("labels") or {}) and service["metadata"]["name"] not in hosts:
            space.delete("Service", service["metadata"]["name"])
    return found


def _name(item: Object) -> str:
    name = item["metadata"]["name"]
    return name if item["kind"] == "Listener" else f"multiaddress-{name}"


def _place(item: Object) -> tuple[str, int]:
    return item["spec"]["host"], item["spec"]["port"]


def _foreign(space: Space, host: str) -> str | None:
    """§4: from 2.2 on someone else's Service is left alone; before, it was overwritten."""
    service = space.get("Service", host)
    if service is None or space.switches.before_2_2:
        return None
    ours = CONTROLLED in (service["metadata"].get("annotations") or {})
    listener = LABEL in (service["metadata"].get("labels") or {})
    return None if ours and listener else f"Service {host} already exists in namespace"


def _twice(space: Space, places: dict[tuple[str, int], str], host: str, port: int, name: str) -> str | None:
    """§4: one host and port for two listeners is an error from 2.2 on."""
    other = places.get((host, port))
    if other is None or other == name or space.switches.before_2_2:
        return None
    return f"Listener {name} with host {host} and port {port} already exists in namespace"


def _expose(space: Space, host: str, ports: dict[str, Object]) -> None:
    """The Service of a host, with a port for each of its listeners.

    §4: a host or port that no Service can have is not told to anybody: the Listener stays Configured.
    """
    spec = {"selector": SELECTOR, "ports": [{**ports[name], "name": _port_name(name)} for name in sorted(ports)]}
    have = space.get("Service", host)
    try:
        if have is None:
            data = {
                "name": host,
                "labels": {LABEL: next(iter(sorted(ports)))[:63]},
                "annotations": {CONTROLLED: "true"},
                "ownerReferences": space.owner,
            }
            space.create({"apiVersion": "v1", "kind": "Service", "metadata": data, "spec": spec})
            return
        parts = ("name", "port", "targetPort", "protocol")
        now = [{part: one.get(part) for part in parts} for one in have["spec"].get("ports", [])]
        if now != spec["ports"] or have["spec"].get("selector") != SELECTOR:
            labels = {**(have["metadata"].get("labels") or {}), LABEL: next(iter(sorted(ports)))[:63]}
            changed = {**have, "metadata": {**have["metadata"], "labels": labels}}
            space.replace({**changed, "spec": {**have["spec"], **spec}})
    except ApiError as refused:
        if refused.status != 422:
            raise
        space.say(f"no Service {host}: {refused.message}")


def _port_name(name: str) -> str:
    """Ports of a Service have short names without dots."""
    return name.replace(".", "-")[:63].strip("-").lower()


# --- connectors


def connect(space: Space) -> list[Object]:
    """The routers' connectors: one for each target."""
    found = []
    for item in space.all("Connector"):
        spec = item["spec"]
        status = space.status(item)
        if spec.get("host"):  # §1: wins over a selector
            targets, trouble = [spec["host"]], None
        else:
            pods = _select(space, space.name, spec.get("selector", ""), ready=not spec.get("includeNotReadyPods"))
            targets = [pod["ip"] for pod in pods]
            trouble = None if pods else _without_pods(status)
            status.field("selectedPods", pods)
        status.set(CONFIGURED, ok_or(trouble))
        found += _targets(item["metadata"]["name"], spec["routingKey"], spec["port"], targets)
    for binding in space.all("AttachedConnectorBinding"):
        found += _attached(space, binding)
    return found


def _without_pods(status: Status) -> str:
    """§4: what a Connector says that has no ready pods. A selection that was changed to an empty one has a word of its own, which stays."""
    said = next((one for one in status.value.get("conditions", []) if one["type"] == CONFIGURED), None)
    if said and (said["message"] == EMPTIED or (status.value.get("selectedPods") and said["observedGeneration"] < status.item["metadata"]["generation"])):
        return EMPTIED
    return "No matches for selector"


def _targets(name: str, key: str, port: int, hosts: Iterable[str]) -> list[Object]:
    return [{"name": f"{name}@{host}", "key": key, "host": host, "port": port} for host in hosts]


def _select(space: Space, namespace: str, selector: str, *, ready: bool) -> list[Object]:
    """§4: names and addresses of the pods that a selector ("k=v,…") chooses; of the ready ones, unless told so."""
    wanted = dict(part.strip().split("=", 1) for part in selector.split(",") if "=" in part)
    found = []
    for pod in space.store.all("Pod", namespace):
        told = pod.get("status", {})
        up = {"type": "Ready", "status": "True"}
        is_ready = any(up.items() <= one.items() for one in told.get("conditions", []))
        fits = wanted and wanted.items() <= (pod["metadata"].get("labels") or {}).items()
        living = told.get("podIP") and told.get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
        if fits and living and (is_ready or not ready):
            found.append({"name": pod["metadata"]["name"], "ip": told["podIP"]})
    return sorted(found, key=lambda one: one["name"])


def _attached(space: Space, binding: Object) -> list[Object]:
    """§1: an AttachedConnector of another namespace and the binding of the same name here."""
    name, namespace = binding["metadata"]["name"], binding["spec"]["connectorNamespace"]
    item = space.store.get("AttachedConnector", namespace, name)
    status = space.status(binding)
    if item is None or item["spec"]["siteNamespace"] != space.name:
        status.set(CONFIGURED, error("No matching AttachedConnector"))
        return []
    spec = item["spec"]
    pods = _select(space, namespace, spec["selector"], ready=not spec.get("includeNotReadyPods"))
    other = space.status(item)
    trouble = None if pods else _without_pods(other)
    other.field("selectedPods", pods)
    other.set(CONFIGURED, ok_or(trouble))
    status.set(CONFIGURED, ok_or(trouble))
    return _targets(name, binding["spec"]["routingKey"], spec["port"], [pod["ip"] for pod in pods])


# --- both


def seen(space: Space, listeners: set[str], connectors: set[str]) -> None:
    """§1: Matched, from the routing keys that the whole network listens on and connects."""
    for kind, other, field, words in (
        ("Listener", connectors, "hasMatchingConnector", "connectors"),
        ("Connector", listeners, "hasMatchingListener", "listeners"),
        ("AttachedConnectorBinding", listeners, "hasMatchingListener", "listeners"),
    ):
        for item in space.all(kind):
            matched = item["spec"]["routingKey"] in other and not on(item, NEVER_MATCHED)
            status = space.status(item)
            if not matched and not status.has(MATCHED) and space.waits(item, space.switches.match_delay):
                continue  # §1: absent until it was evaluated
            status.field(field, matched)
            status.set(MATCHED, OK if matched else pending(f"No matching {words}"))
    for item in space.all("MultiKeyListener"):
        reached = [key for key in keys_of(item) if key in connectors]
        status = space.status(item)
        status.field("hasDestination", bool(reached))
        weights = item["spec"]["strategy"].get("weighted", {}).get("routingKeys", {})
        told = {key: weights[key] for key in reached} if weights else reached
        name = "weighted" if weights else "priority"
        status.field("strategy", {name: {"routingKeysReachable": told}})
        status.set(OPERATIONAL, OK if reached else pending("No matching connectors"))
