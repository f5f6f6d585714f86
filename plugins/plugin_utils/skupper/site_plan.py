# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about the Site of a namespace, a site's Listener and the hub's Connector. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..base.object_names import FLEET_PORT
from ..base.values import integer, text
from ..manifests.skupper import FLEET, ROUTER
from ..spec.network_spec import NO_ACCESS, ListenerSpec, NetworkSiteSpec
from . import ownership, state
from .ownership import is_ours, owners, split

Object = Mapping[str, Any]

# Skupper's own label on the Service of a Listener.
_OF_LISTENER = "internal.skupper.io/listener"


@dataclass(frozen=True)
class SitePlan:
    """What to do.

    Attributes:
        adopted: a Site that someone else created, and that is used as it is.
        former: Sites of ours with another name, which must be gone before the new one is created.
        leaving: Sites that are being deleted, which must be waited for.
        fault: why nothing can be done, a sentence without its full stop.
        warnings: sentences.
    """

    adopted: Object | None = None
    former: tuple[Object, ...] = ()
    leaving: tuple[Object, ...] = ()
    fault: str = ""
    warnings: tuple[str, ...] = ()


def active(found: Iterable[Object]) -> Object | None:
    """The Site that Skupper serves; of several the one that is not refused as a second one."""
    candidates = [site for site in found if not site["metadata"].get("deletionTimestamp")]
    good = [site for site in candidates if state.SECOND_SITE not in state.said(site, "Configured")]
    return next(iter(good or candidates), None)


def of_hub(spec: NetworkSiteSpec, found: Iterable[Object]) -> NetworkSiteSpec:
    """The spec of a hub without C(name), with the name of the Site that it has: by default it is that of the host, which may be called differently in
    another inventory. A Site of another name would have another CA, and every site would lose its link. Other specs are as they were."""
    ours = [site for site in split(found)[0] if not site["metadata"].get("deletionTimestamp")]
    keeps = spec.hub and not spec.name and len(ours) == 1 and state.has_link_access(ours[0])
    return replace(spec, name=ours[0]["metadata"]["name"]) if keeps else spec


def has_own(spec: NetworkSiteSpec, found: Iterable[Object]) -> bool:
    """Whether there is a Site of ours with the name of this spec's."""
    return any(is_ours(site) and site["metadata"]["name"] == spec.site_name for site in found)


def decide_site(spec: NetworkSiteSpec, found: Iterable[Object], end: str = "") -> SitePlan:
    """What to do about the Sites of the namespace.

    Args:
        found: all Sites there, live.
        end: whose the namespace is, see C(ownership.end_of). A Site of the other end is never replaced.
    """
    fault = ownership.end_error(spec.namespace, end, hub=spec.hub)
    if fault:
        return SitePlan(fault=fault)
    leaving = tuple(site for site in found if site["metadata"].get("deletionTimestamp"))
    ours, theirs = split(site for site in found if not site["metadata"].get("deletionTimestamp"))
    if len(theirs) > 1 or (ours and theirs):
        return SitePlan(leaving=leaving, fault=_several([*ours, *theirs]))
    if theirs:
        return _adopt_site(spec, theirs[0], leaving)
    wanted = spec.site_name
    former = tuple(site for site in ours if site["metadata"]["name"] != wanted)
    warnings = tuple(
        f"{state.named(site)} is replaced by a Site named {wanted}: its links are recreated" for site in former
    )
    return SitePlan(former=former, leaving=leaving, warnings=warnings)


def _several(found: list[Object]) -> str:
    served = active(found)
    reported = ", ".join(
        f"{site['metadata']['name']} ({'ours' if is_ours(site) else 'created by someone else'}"
        f"{', the one that Skupper serves' if site is served else ''})"
        for site in found
    )
    namespace = found[0]["metadata"]["namespace"]
    return (
        f"namespace {namespace} has {len(found)} Sites: {reported}. Skupper serves one for a namespace. Delete those that are not "
        f"wanted (kubectl -n {namespace} delete site NAME)"
    )


def _adopt_site(spec: NetworkSiteSpec, site: Object, leaving: tuple[Object, ...]) -> SitePlan:
    name, namespace = site["metadata"]["name"], site["metadata"]["namespace"]
    access = text((site.get("spec") or {}).get("linkAccess"))
    if spec.has_access and access in NO_ACCESS and not state.status(site).get("endpoints"):
        patch = f'{{"spec":{{"linkAccess":"{spec.link_access}"}}}}'
        return SitePlan(
            leaving=leaving,
            fault=f"{state.named(site)} was created by someone else and lets no other site link to it. Its owner may open it "
            f"(kubectl -n {namespace} patch site {name} --type merge -p '{patch}'), or delete it, and this role creates its own",
        )
    return SitePlan(
        adopted=site,
        leaving=leaving,
        warnings=(
            f"{state.named(site)} was created by someone else: it is used as it is, and never changed or deleted",
        ),
    )


def dependents(site_uid: str, objects: Iterable[Object]) -> list[str]:
    """What Skupper created for a Site and Kubernetes has not deleted yet, for people.

    A Site that is recreated before its predecessor's router configuration is gone fails because of it.
    """
    return [state.named(obj) for obj in objects if site_uid in owners(obj, "Site")]


@dataclass(frozen=True)
class ListenerPlan:
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


def decide_listener(spec: ListenerSpec, found: Iterable[Object], service: Object | None) -> ListenerPlan:
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
            return _adopt_listener(one)
        at = f"{state.named(one)}, created by someone else,"
        if same_host and same_port:
            return ListenerPlan(
                fault=f"{at} serves {host}:{port} for another routing key ({given.get('routingKey')}). Delete it, use its key "
                "(skupper_listener_routing_key), or select another host (skupper_listener_host)"
            )
        if same_host and same_key:
            return ListenerPlan(
                fault=f"{at} serves {host} on port {given.get('port')}, and SuperNodes would connect to {port}. Set skupper_listener_port to "
                f"{given.get('port')} to use it, or delete it"
            )
        if one["metadata"]["name"] == FLEET:
            return ListenerPlan(
                fault=f"{at} has the name of ours, and serves {given.get('host')}:{given.get('port')}. Delete it, or use it: set "
                "skupper_listener_host, skupper_listener_port and skupper_listener_routing_key to its own"
            )
    if service is not None and not of_listener(service):
        return ListenerPlan(
            fault=f"Service {service['metadata']['namespace']}/{host} exists already, and was not created by Skupper: a Listener would not "
            "get a Service. Select another host (skupper_listener_host), or delete the Service"
        )
    return ListenerPlan()


def decide_connector(spec: ListenerSpec, found: Iterable[Object]) -> ListenerPlan:
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
                return _adopt_listener(one)
            return ListenerPlan(
                fault=f"{at} leads to port {given.get('port')}, but sites are served on {FLEET_PORT}. Delete it, correct its port, or "
                "select another key (skupper_listener_routing_key)"
            )
        if one["metadata"]["name"] == FLEET:
            return ListenerPlan(
                fault=f"{at} has the name of ours, and another routing key ({given.get('routingKey')}). Delete it, or use "
                "its key (skupper_listener_routing_key)"
            )
    return ListenerPlan()


def _adopt_listener(one: Object) -> ListenerPlan:
    return ListenerPlan(
        adopted=one,
        warnings=(
            f"{state.named(one)} was created by someone else: it is used as it is, and never changed or deleted",
        ),
    )


def chosen(plan: ListenerPlan, found: Iterable[Object]) -> Object | None:
    """The object to wait for: the adopted one, or ours."""
    if plan.adopted is not None:
        name = plan.adopted["metadata"]["name"]
        return next((one for one in found if one["metadata"]["name"] == name), None)
    return next((one for one in found if one["metadata"]["name"] == FLEET and is_ours(one)), None)
