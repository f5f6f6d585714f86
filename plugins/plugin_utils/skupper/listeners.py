# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do about a site's Listener and the hub's Connector. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.ports import FLEET_PORT
from ..base.values import integer, text
from ..manifests.skupper import FLEET, ROUTER
from ..spec.network_spec import ListenerSpec
from . import state
from .ownership import is_ours, split

Object = Mapping[str, Any]

# Skupper's own label on the Service of a Listener.
_OF_LISTENER = "internal.skupper.io/listener"


@dataclass(frozen=True)
class Plan:
    """What to do: use someone else's object, or create ours.

    Attributes:
        adopted: someone else's Listener or Connector that does the same.
        fault: why nothing can be done, a sentence without its full stop.
        warnings: sentences.
    """

    adopted: Object | None = None
    fault: str = ""
    warnings: tuple[str, ...] = ()


def of_listener(service: Object | None) -> bool:
    """Whether Skupper created a Service for a Listener."""
    if service is None:
        return False
    labels = service["metadata"].get("labels") or {}
    chosen = (service.get("spec") or {}).get("selector") or {}
    return _OF_LISTENER in labels or ROUTER.items() <= chosen.items()


def decide_listener(spec: ListenerSpec, found: Iterable[Object], service: Object | None) -> Plan:
    """What to do about the Listener.

    Args:
        found: all Listeners of the namespace, live.
        service: the Service of the Listener's host, live.
    """
    host, port, key = spec.host, spec.port, spec.key
    _ours, theirs = split(found)
    for one in theirs:
        given = one.get("spec") or {}
        same_host = text(given.get("host")) == host
        same_port, same_key = integer(given.get("port")) == port, text(given.get("routingKey")) == key
        if same_host and same_port and same_key:
            return _adopt(one)
        at = f"{state.named(one)}, created by someone else,"
        if same_host and same_port:
            return Plan(
                fault=f"{at} serves {host}:{port} for another routing key ({given.get('routingKey')}). Delete it, use its key "
                "(skupper_listener_routing_key), or select another host (skupper_listener_host)"
            )
        if same_host and same_key:
            return Plan(
                fault=f"{at} serves {host} on port {given.get('port')}, and SuperNodes would connect to {port}. Set skupper_listener_port to "
                f"{given.get('port')} to use it, or delete it"
            )
        if one["metadata"]["name"] == FLEET:
            return Plan(fault=f"{at} has the name of ours, and serves {given.get('host')}:{given.get('port')}. Delete it, "
                        "or use it: set skupper_listener_host, skupper_listener_port and skupper_listener_routing_key to its own")  # fmt: skip
    if service is not None and not of_listener(service):
        return Plan(
            fault=f"Service {service['metadata']['namespace']}/{host} exists already, and was not created by Skupper: a Listener would not "
            "get a Service. Select another host (skupper_listener_host), or delete the Service"
        )
    return Plan()


def decide_connector(spec: ListenerSpec, found: Iterable[Object]) -> Plan:
    """What to do about the Connector.

    Args:
        found: all Connectors of the namespace, live.
    """
    key = spec.key
    _ours, theirs = split(found)
    for one in theirs:
        given = one.get("spec") or {}
        at = f"{state.named(one)}, created by someone else,"
        if text(given.get("routingKey")) == key:
            if integer(given.get("port")) == FLEET_PORT or given.get("host"):
                return _adopt(one)
            return Plan(
                fault=f"{at} leads to port {given.get('port')}, but sites are served on {FLEET_PORT}. Delete it, correct its port, or "
                "select another key (skupper_listener_routing_key)"
            )
        if one["metadata"]["name"] == FLEET:
            return Plan(
                fault=f"{at} has the name of ours, and another routing key ({given.get('routingKey')}). Delete it, or use "
                "its key (skupper_listener_routing_key)"
            )
    return Plan()


def _adopt(one: Object) -> Plan:
    return Plan(
        adopted=one,
        warnings=(
            f"{state.named(one)} was created by someone else: it is used as it is, and never changed or deleted",
        ),
    )


def chosen(plan: Plan, found: Iterable[Object]) -> Object | None:
    """The object to wait for: the adopted one, or ours."""
    if plan.adopted is not None:
        name = plan.adopted["metadata"]["name"]
        return next((one for one in found if one["metadata"]["name"] == name), None)
    return next((one for one in found if one["metadata"]["name"] == FLEET and is_ours(one)), None)
