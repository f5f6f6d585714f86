# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an object of Skupper is as it should be, what is missing when it is not, and why an AccessToken is not redeemed. Pure.

Which conditions are set, and what they mean, is taken from Skupper's code of 2.2.1; the texts of its CustomResourceDefinitions
differ in places (a Listener has C(Matched), not C(Operational)). A Listener can be Ready although it has no Service, and an
AccessGrant stays Ready when it has expired, so not only conditions are checked.

Source of the rules: Skupper 2.2.1. Redeemed is final. A token that was refused is retried every 30 seconds without a limit, and
has the reason in its status. The hub counts a redemption before it creates the certificate, so one that fails there is used up, too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..apply.readiness import condition
from ..base.formats import moment
from ..base.values import text
from ..kube import pod_health as site_pods
from ..spec.network_spec import NO_ACCESS
from . import skupper_requirements

Object = Mapping[str, Any]

SECOND_SITE = "active site already exists"
_MARGIN = datetime.timedelta(seconds=20)  # a grant that expires sooner is not used

# States of a grant.
PENDING, USABLE, EXPIRED, EXHAUSTED = "pending", "usable", "expired", "exhausted"

# What to do.
WAIT, ANEW, REFUSE, DONE = "wait", "anew", "refuse", "done"

NONE_YET = "there was none"

_HTTP = re.compile(r"failed response: (\d{3})")


class State(NamedTuple):
    """C(ready), or what is missing; C(hopeless) means that waiting cannot help."""

    ready: bool
    why: str = ""
    hopeless: bool = False


READY = State(True)


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
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True" and not _stale(obj, found)


def _stale(obj: Object, found: Mapping[str, Any]) -> bool:
    seen = found.get("observedGeneration")
    return isinstance(seen, int) and seen < (obj["metadata"].get("generation") or 0)


def said(obj: Object, kind: str) -> str:
    """The message of a condition, or else of the status."""
    message = text((condition(obj, kind) or {}).get("message")) or text(status(obj).get("message"))
    return "" if message == "OK" else message


def _untouched(obj: Object) -> bool:
    return not status(obj).get("conditions")


_NOBODY = (
    "no controller has processed it. Is Skupper's controller running in the cluster (Deployment skupper-controller)? One that "
    "serves single namespaces only serves this one when skupper_site_controller lists it"
)


def site(
    obj: Object,
    services: Iterable[Object] = (),
    pods: Sequence[Object] = (),
    deployments: Iterable[Object] = (),
    namespace: Object | None = None,
) -> State:
    """A Site: configured, a router runs and, where others may link to it, it has an address.

    Args:
        obj: the Site.
        services: Services of its namespace, to find why there is no address.
        pods: its router's pods, to find why none runs.
        deployments: its routers' Deployments, to find why there are no pods.
        namespace: its namespace, for the same.
    """
    if _untouched(obj):
        return State(False, _NOBODY)
    if not is_true(obj, "Configured"):
        why = said(obj, "Configured")
        if SECOND_SITE in why:
            return State(
                False, f"{why}; Skupper supports one for a namespace, so delete the one that is not wanted", True
            )
        if "LinkAccess" in why:
            return State(
                False,
                f"{why}. Start the controller with this type among its -enabled-access-types, or set "
                "skupper_site_link_access to another one",
                True,
            )
        return State(False, f"it is not Configured: {why or 'no reason reported'}")
    if not is_true(obj, "Running"):
        refused = skupper_requirements.refusal(deployments, namespace)
        if refused is not None:
            return State(False, f"its router does not run: {refused.why}", refused.hopeless)
        return State(False, f"its router does not run: {site_pods.summary(pods)}")
    if text((obj.get("spec") or {}).get("linkAccess")) not in NO_ACCESS and not (
        is_true(obj, "Resolved") and status(obj).get("endpoints")
    ):
        return State(False, f"it has no address for links yet: {_address_wanted(obj, services)}")
    return READY


def _address_wanted(obj: Object, services: Iterable[Object]) -> str:
    for service in services:
        if service["metadata"]["name"] != "skupper-router" or service["spec"].get("type") != "LoadBalancer":
            continue
        if not ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
            return (
                "the load balancer of Service skupper-router has not got one. Is there a load balancer in the cluster? "
                "skupper_site_link_access can be set to another type (route, nodeport, ingress, ...)"
            )
    return said(obj, "Resolved") or "its RouterAccess has none: skupper-router"


def has_link_access(obj: Object) -> bool:
    """Whether other sites may link to a Site: by its own setting, or by a RouterAccess that someone created for it."""
    return text((obj.get("spec") or {}).get("linkAccess")) not in NO_ACCESS or bool(status(obj).get("endpoints"))


def made(obj: Object | None) -> str:
    """When an object was created: RFC 3339, in UTC and whole seconds, so that texts are in the order of time."""
    return text(((obj or {}).get("metadata") or {}).get("creationTimestamp"))


def outlived(obj: Object, own_site: Object | None) -> bool:
    """Whether an object is older than the Site of its namespace.

    Skupper 2.2.1 never passes such a Link to the new Site's router, while the conditions that it had with the previous Site stay
    as they were (internal/kube/site/site.go: the configuration with the Link is dropped).
    """
    return bool(made(obj)) and made(obj) < made(own_site)


def _seen_by_site(obj: Object, own_site: Object | None) -> bool:
    """Whether the Site itself, whose status is not older than it is, shows that a Link is up and leads to its target."""
    for record in status(own_site).get("network") or []:
        for one in record.get("links") or [] if record.get("id") == uid(own_site) else []:
            if one.get("name") == obj["metadata"]["name"] and one.get("operational"):
                return one.get("remoteSiteId") == status(obj).get("remoteSiteId")
    return False


def link(obj: Object, remote: str = "", own_site: Object | None = None) -> State:
    """A Link: written into the router's configuration, and up.

    Args:
        obj: the Link.
        remote: uid of the Site to which it must lead; any by default.
        own_site: the Site of its namespace. Conditions of a Link that is older than this are ignored, unless the Site shows the
            same.
    """
    if _untouched(obj):
        return State(False, _NOBODY)
    if outlived(obj, own_site) and not _seen_by_site(obj, own_site):
        return State(
            False,
            f"it is older ({made(obj)}) than the Site of its namespace ({made(own_site)}), which does not show it: Skupper does not "
            "pass Links of a previous Site to a new one's router. Its owner must delete and recreate it",
        )
    if not is_true(obj, "Configured"):
        return State(False, f"it is not Configured: {said(obj, 'Configured') or 'no reason reported'}")
    if not is_true(obj, "Operational"):
        hosts = ", ".join(
            sorted({f"{entry.get('host')}:{entry.get('port')}" for entry in (obj["spec"].get("endpoints") or [])})
        )
        return State(
            False,
            f"it is not Operational ({said(obj, 'Operational') or 'no reason reported'}): the router of the site does not get "
            f"through to {hosts}, or one of the two does not accept the other's certificate",
        )
    found = text(status(obj).get("remoteSiteId"))
    if remote and found != remote:
        return State(
            False, f"it leads to Site {status(obj).get('remoteSiteName') or '?'} ({found}), not to the hub's ({remote})"
        )
    return READY


def works(obj: Object, remote: str, own_site: Object | None = None) -> bool:
    """Whether a Link is up and leads to this Site. See C(link)."""
    return bool(remote) and is_true(obj, "Ready") and link(obj, remote, own_site).ready


def listener(obj: Object, service: Object | None) -> State:
    """A Listener: configured, with a Service, and matched by a connector somewhere."""
    if _untouched(obj):
        return State(False, _NOBODY)
    if not is_true(obj, "Configured"):
        why = said(obj, "Configured")
        return State(False, f"it is not Configured: {why or 'no reason reported'}", "already exists" in why)
    host = text(obj["spec"].get("host"))
    if service is None:
        return State(False, f"Skupper has created no Service {host}, although it reports the Listener as configured")
    if not (is_true(obj, "Matched") or status(obj).get("hasMatchingConnector")):
        return State(
            False, f"no connector in the network has its routing key {obj['spec'].get('routingKey')}: the hub has none, or the "
            "hub is not reachable"
        )  # fmt: skip
    return READY


def connector(obj: Object) -> State:
    """A Connector: it has found pods. Whether a listener matches is up to the sites."""
    if _untouched(obj):
        return State(False, _NOBODY)
    if not is_true(obj, "Configured"):
        why = said(obj, "Configured") or "no reason reported"
        return State(
            False, f"it is not Configured: {why}; it needs ready pods of the SuperLink ({obj['spec'].get('selector')})"
        )
    return READY


def certificate(obj: Object, secret: Object | None) -> State:
    """A Certificate: Skupper has created a complete Secret for it."""
    if _untouched(obj):
        return State(False, _NOBODY)
    if not is_true(obj, "Ready"):
        why = said(obj, "Ready")
        return State(False, f"it is not Ready: {why or 'no reason reported'}", "not controlled" in why)
    missing = [key for key in ("tls.crt", "tls.key", "ca.crt") if not ((secret or {}).get("data") or {}).get(key)]
    if missing:
        return State(
            False, "its Secret is not there yet" if secret is None else f"its Secret lacks {', '.join(missing)}"
        )
    return READY


def grant(obj: Object, now: datetime.datetime) -> tuple[str, str]:
    """What an AccessGrant is (C(PENDING), C(USABLE), C(EXPIRED), C(EXHAUSTED)), and why.

    Args:
        obj: the AccessGrant.
        now: the time by the hub's clock.
    """
    found = status(obj)
    ends = text(found.get("expirationTime"))
    if ends:
        end = moment(ends)
        if end is None:
            return EXPIRED, f"its expiry, {ends}, is not a timestamp"
        if end - _MARGIN <= now:
            return EXPIRED, f"it expired on {ends}"
    allowed = (obj.get("spec") or {}).get("redemptionsAllowed") or 1
    if (found.get("redemptions") or 0) >= allowed:
        return EXHAUSTED, f"{found['redemptions']} of {allowed} redemptions are used"
    if not all(found.get(key) for key in ("url", "code", "ca")) or not is_true(obj, "Ready"):
        if _untouched(obj):
            return PENDING, _NOBODY
        return PENDING, (
            f"{said(obj, 'Resolved') or said(obj, 'Processed') or 'it has no url yet'}. The controller's grant server needs an address "
            "that sites can reach (a Route or a load balancer); skupper_link_mode: direct needs no grant server"
        )
    return USABLE, ""


class TokenVerdict(NamedTuple):
    """What to do about a token, and why."""

    do: str
    why: str = ""


def judge_token(
    token: Mapping[str, Any] | None, grant: str, *, linked: bool, secret_in_the_way: str, ours: bool = True
) -> TokenVerdict:
    """What to do about the AccessToken of a site that is not linked.

    Args:
        token: it, live; None when there is none.
        grant: what is known of its grant, for people: "expired: it ended on ...", "deleted".
        linked: whether it led to a Link.
        secret_in_the_way: name of a Secret of someone else with the token's name; else empty.
        ours: whether this collection created the token.
    """
    if secret_in_the_way:
        return TokenVerdict(
            REFUSE,
            f"Secret {secret_in_the_way} exists already, and was not created by this collection: Skupper would not replace it, and "
            "every try would use up a token. Delete it, or give the link another name (skupper_link_name)",
        )
    if token is None:
        return TokenVerdict(ANEW, NONE_YET)
    if not ours:
        return TokenVerdict(
            REFUSE,
            f"{named(token)} was created by someone else and has not led to a link. Delete it, or give the link another name "
            "(skupper_link_name)",
        )
    found = status(token)
    message = str(found.get("message") or "")
    if "deleted site" in message:
        return TokenVerdict(ANEW, "it was redeemed for a Site that was deleted later")
    if found.get("redeemed") or is_true(token, "Redeemed"):
        return TokenVerdict(DONE if linked else ANEW, "" if linked else "it was redeemed, and its Link was deleted later")
    return _failed(message, grant)


def _failed(message: str, grant: str) -> TokenVerdict:
    """A token that is not redeemed, by its message. An empty one: it was not tried yet."""
    if not message or message == "OK":
        return TokenVerdict(WAIT, "the site's controller has not tried it yet")
    if "already exists" in message:
        return TokenVerdict(ANEW, "it conflicted with objects of an earlier token")
    if "No such claim" in message:
        return TokenVerdict(ANEW, f"the hub no longer has its grant ({grant or 'expired or deleted'})")
    if "No such access granted" in message:
        return TokenVerdict(ANEW, "its grant was used up")
    code = _HTTP.search(message)
    if (code and code[1] == "403") or "refused" in message and "connection refused" not in message:
        return TokenVerdict(ANEW, "its code is not that of the grant")
    if code and code[1].startswith("5"):
        return TokenVerdict(ANEW, f"the hub failed to create the certificate ({code[1]}), which used it up")
    return TokenVerdict(WAIT, message)
