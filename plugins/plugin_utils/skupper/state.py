# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an object of Skupper is ready, and what is missing. Pure.

Which conditions are set, and what they mean, is taken from Skupper's code of 2.2.1; the texts of its CustomResourceDefinitions
differ in places (a Listener has C(Matched), not C(Operational)). A Listener can be Ready although it has no Service, and an
AccessGrant stays Ready when it has expired, so not only conditions are checked.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..apply.readiness import READY, State, condition
from ..base.formats import moment
from ..base.values import text
from ..kube import pod_health
from ..manifests.skupper import ROUTER_SERVICE
from ..spec.network_spec import NO_ACCESS
from . import skupper_requirements

Object = Mapping[str, Any]

SECOND_SITE = "active site already exists"
_MARGIN = datetime.timedelta(seconds=20)  # a grant that expires sooner is not used

# States of a grant.
PENDING, USABLE, EXPIRED, EXHAUSTED = "pending", "usable", "expired", "exhausted"

_NO_CONTROLLER = (
    "no controller has processed it. Check that Skupper's controller is running in the cluster (Deployment skupper-controller). One that "
    "serves single namespaces only serves this one when skupper_site_controller lists it"
)


def named(obj: Object) -> str:
    """An object for people."""
    meta = obj["metadata"]
    return f"{obj['kind']} {meta.get('namespace', '')}/{meta['name']}"


def uid(obj: Object | None) -> str:
    """The uid of an object; empty when there is none."""
    return text(((obj or {}).get("metadata") or {}).get("uid"))


def status(obj: Object | None) -> Mapping[str, Any]:
    """The status of an object."""
    return (obj or {}).get("status") or {}


def is_true(obj: Object, kind: str) -> bool:
    """Whether a condition is true, and of the present generation."""
    found = condition(obj, kind) or {}
    seen = found.get("observedGeneration")
    return found.get("status") == "True" and not (isinstance(seen, int) and seen < (obj["metadata"].get("generation") or 0))


def message_of(obj: Object, kind: str) -> str:
    """The message of a condition, or else of the status."""
    message = text((condition(obj, kind) or {}).get("message")) or text(status(obj).get("message"))
    return "" if message == "OK" else message


def _unconfigured(obj: Object) -> tuple[str, str]:
    """Why an object is not Configured, and Skupper's own message; empty if it is."""
    if not status(obj).get("conditions"):
        return _NO_CONTROLLER, ""
    if is_true(obj, "Configured"):
        return "", ""
    message = message_of(obj, "Configured")
    return f"it is not Configured: {message or 'no reason reported'}", message


def site(
    obj: Object, services: Iterable[Object] = (), pods: Sequence[Object] = (), deployments: Iterable[Object] = (), namespace: Object | None = None
) -> State:
    """A Site: configured, a router runs and, where others may link to it, it has an address.

    Args:
        services: Services of its namespace, to find why there is no address.
        pods: its router's pods, to find why none runs.
        deployments: its routers' Deployments, to find why there are no pods.
        namespace: its namespace, for the same.
    """
    why, message = _unconfigured(obj)
    if SECOND_SITE in message:
        return State(False, f"{message}; Skupper supports one for a namespace, so delete the one that is not wanted", True)
    if "LinkAccess" in message:
        remedy = "Start the controller with this type among its -enabled-access-types, or set skupper_site_link_access to another one"
        return State(False, f"{message}. {remedy}", True)
    if why:
        return State(False, why)
    if not is_true(obj, "Running"):
        refused, hopeless = skupper_requirements.refusal(deployments, namespace)
        return State(False, f"its router does not run: {refused or pod_health.summary(pods)}", hopeless)
    resolved = is_true(obj, "Resolved") and status(obj).get("endpoints")
    if text((obj.get("spec") or {}).get("linkAccess")) in NO_ACCESS or resolved:
        return READY
    why = message_of(obj, "Resolved") or f"its RouterAccess has none: {ROUTER_SERVICE}"
    for service in services:
        is_balanced = service["metadata"]["name"] == ROUTER_SERVICE and service["spec"].get("type") == "LoadBalancer"
        if is_balanced and not ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
            why = (
                f"the load balancer of Service {ROUTER_SERVICE} has none. Check that the cluster has a load balancer. "
                "skupper_site_link_access can be set to another type (route, nodeport, ingress, ...)"
            )
    return State(False, f"it has no address for links yet: {why}")


def has_link_access(obj: Object) -> bool:
    """Whether other sites may link to a Site: by its own setting, or by a RouterAccess that someone created for it."""
    return text((obj.get("spec") or {}).get("linkAccess")) not in NO_ACCESS or bool(status(obj).get("endpoints"))


def _created(obj: Object | None) -> str:
    """When an object was created: RFC 3339, in UTC and whole seconds, so that texts are in the order of time."""
    return text(((obj or {}).get("metadata") or {}).get("creationTimestamp"))


def outlived(obj: Object, own_site: Object | None) -> bool:
    """Whether an object is older than the Site of its namespace.

    Skupper 2.2.1 never passes such a Link to the new Site's router, while the conditions that it had with the previous Site stay
    as they were (internal/kube/site/site.go: the configuration with the Link is dropped).
    """
    return bool(_created(obj)) and _created(obj) < _created(own_site)


def _is_in_network(obj: Object, own_site: Object | None) -> bool:
    """Whether the Site, whose status is not older than it is, reports that a Link is up and leads to its target."""
    return any(
        one.get("operational") and one.get("remoteSiteId") == status(obj).get("remoteSiteId")
        for record in status(own_site).get("network") or []
        if record.get("id") == uid(own_site)
        for one in record.get("links") or []
        if one.get("name") == obj["metadata"]["name"]
    )


def link(obj: Object, remote: str = "", own_site: Object | None = None) -> State:
    """A Link: written into the router's configuration, and up.

    Args:
        remote: uid of the Site to which it must lead; any by default.
        own_site: the Site of its namespace. Conditions of a Link that is older than this are ignored, unless the Site reports the same.
    """
    why, _message = _unconfigured(obj)
    if why != _NO_CONTROLLER and outlived(obj, own_site) and not _is_in_network(obj, own_site):
        why = (
            f"it is older ({_created(obj)}) than the Site of its namespace ({_created(own_site)}), which does not show it: Skupper does not "
            "pass Links of a previous Site to a new one's router. Its owner must delete and recreate it"
        )
    if not why and not is_true(obj, "Operational"):
        hosts = sorted({f"{entry.get('host')}:{entry.get('port')}" for entry in (obj["spec"].get("endpoints") or [])})
        why = (
            f"it is not Operational ({message_of(obj, 'Operational') or 'no reason reported'}): the router of the site "
            f"cannot connect to {', '.join(hosts)}, or one of the two does not accept the other's certificate"
        )
    found = text(status(obj).get("remoteSiteId"))
    if not why and remote and found != remote:
        why = f"it leads to Site {status(obj).get('remoteSiteName') or '?'} ({found}), not to the hub's ({remote})"
    return State(not why, why)


def listener(obj: Object, service: Object | None) -> State:
    """A Listener: configured, with a Service, and matched by a connector somewhere."""
    why, message = _unconfigured(obj)
    if not why and service is None:
        why = f"Skupper has created no Service {text(obj['spec'].get('host'))}, although it reports the Listener as configured"
    if not why and not (is_true(obj, "Matched") or status(obj).get("hasMatchingConnector")):
        key = obj["spec"].get("routingKey")
        why = f"no connector in the network has its routing key {key}: the hub has none, or the hub is not reachable"
    return State(not why, why, "already exists" in message)


def connector(obj: Object) -> State:
    """A Connector: it has found pods. Whether a listener matches is up to the sites."""
    why, message = _unconfigured(obj)
    if message:
        why = f"{why}; it needs ready pods of the SuperLink ({obj['spec'].get('selector')})"
    return State(not why, why)


def certificate(obj: Object, secret: Object | None) -> State:
    """A Certificate: Skupper has created a complete Secret for it."""
    if not status(obj).get("conditions"):
        return State(False, _NO_CONTROLLER)
    if not is_true(obj, "Ready"):
        why = message_of(obj, "Ready")
        return State(False, f"it is not Ready: {why or 'no reason reported'}", "not controlled" in why)
    if secret is None:
        return State(False, "its Secret does not exist yet")
    missing = [key for key in ("tls.crt", "tls.key", "ca.crt") if not (secret.get("data") or {}).get(key)]
    return State(not missing, f"its Secret lacks {', '.join(missing)}" if missing else "")


def grant(obj: Object, now: datetime.datetime) -> tuple[str, str]:
    """What an AccessGrant is (C(PENDING), C(USABLE), C(EXPIRED), C(EXHAUSTED)), and why.

    Args:
        now: the time by the hub's clock.
    """
    found = status(obj)
    if ends := text(found.get("expirationTime")):
        end = moment(ends)
        if end is None or end - _MARGIN <= now:
            return EXPIRED, f"it expired on {ends}"
    allowed = (obj.get("spec") or {}).get("redemptionsAllowed") or 1
    if (found.get("redemptions") or 0) >= allowed:
        return EXHAUSTED, f"{found['redemptions']} of {allowed} redemptions are used"
    if all(found.get(key) for key in ("url", "code", "ca")) and is_true(obj, "Ready"):
        return USABLE, ""
    if not found.get("conditions"):
        return PENDING, _NO_CONTROLLER
    return PENDING, (
        f"{message_of(obj, 'Resolved') or message_of(obj, 'Processed') or 'it has no url yet'}. The controller's grant server needs an address "
        "that sites can reach (a Route or a load balancer); skupper_link_mode: direct needs no grant server"
    )
