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


@dataclass(frozen=True)
class Plan:
    """What to do: use someone else's object, or create ours.

    Attributes:
        adopted: an object that someone else created, and that is used as it is.
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


def _adopt(one: Object, leaving: tuple[Object, ...] = ()) -> Plan:
    warning = f"{state.named(one)} was created by someone else: it is used as it is, and never changed or deleted"
    return Plan(adopted=one, leaving=leaving, warnings=(warning,))


def active(found: Iterable[Object]) -> Object | None:
    """The Site that Skupper serves; of several the one that is not refused as a second one."""
    candidates = [site for site in found if not site["metadata"].get("deletionTimestamp")]
    good = [site for site in candidates if state.SECOND_SITE not in state.message_of(site, "Configured")]
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


def decide_site(spec: NetworkSiteSpec, found: Iterable[Object], end: str = "") -> Plan:
    """What to do about the Sites of the namespace.

    Args:
        found: all Sites there, live.
        end: whose the namespace is, see C(ownership.end_of). A Site of the other end is never replaced.
    """
    if fault := ownership.end_error(spec.namespace, end, hub=spec.hub):
        return Plan(fault=fault)
    leaving = tuple(site for site in found if site["metadata"].get("deletionTimestamp"))
    ours, theirs = split(site for site in found if not site["metadata"].get("deletionTimestamp"))
    if len(theirs) > 1 or (ours and theirs):
        listed = [*ours, *theirs]
        served, namespace = active(listed), spec.namespace
        names = ", ".join(
            f"{site['metadata']['name']} ({'ours' if is_ours(site) else 'created by someone else'}"
            f"{', the one that Skupper serves' if site is served else ''})"
            for site in listed
        )
        return Plan(
            leaving=leaving,
            fault=f"namespace {namespace} has {len(listed)} Sites: {names}. Skupper serves one for a namespace. Delete those that are not "
            f"wanted (kubectl -n {namespace} delete site NAME)",
        )
    if theirs:
        access = text((theirs[0].get("spec") or {}).get("linkAccess"))
        if not spec.has_access or access not in NO_ACCESS or state.status(theirs[0]).get("endpoints"):
            return _adopt(theirs[0], leaving)
        patch = f'{{"spec":{{"linkAccess":"{spec.link_access}"}}}}'
        return Plan(
            leaving=leaving,
            fault=f"{state.named(theirs[0])} was created by someone else and lets no other site link to it. Its owner may open it (kubectl -n "
            f"{spec.namespace} patch site {theirs[0]['metadata']['name']} --type merge -p '{patch}'), or delete it, and this role creates its own",
        )
    former = tuple(site for site in ours if site["metadata"]["name"] != spec.site_name)
    warnings = tuple(f"{state.named(site)} is replaced by a Site named {spec.site_name}: its links are recreated" for site in former)
    return Plan(former=former, leaving=leaving, warnings=warnings)


def dependents(site_uid: str, objects: Iterable[Object]) -> list[str]:
    """What Skupper created for a Site and Kubernetes has not deleted yet, for people.

    A Site that is recreated before its predecessor's router configuration is gone fails because of it.
    """
    return [state.named(obj) for obj in objects if site_uid in owners(obj, "Site")]


def decide_listener(spec: ListenerSpec, found: Iterable[Object], service: Object | None) -> Plan:
    """What to do about the Listener.

    Args:
        found: all Listeners of the namespace, live.
        service: the Service of the Listener's host, live.
    """
    host, port = spec.host, spec.port
    for one in split(found)[1]:
        given = one.get("spec") or {}
        same_host = text(given.get("host")) == host
        same_port, same_key = integer(given.get("port")) == port, text(given.get("routingKey")) == spec.key
        fault = ""
        if same_host and same_port and same_key:
            return _adopt(one)
        if same_host and same_port:
            fault = (
                f"serves {host}:{port} for another routing key ({given.get('routingKey')}). Delete it, use its key "
                "(skupper_listener_routing_key), or select another host (skupper_listener_host)"
            )
        elif same_host and same_key:
            fault = (
                f"serves {host} on port {given.get('port')}, and SuperNodes would connect to {port}. Set skupper_listener_port to "
                f"{given.get('port')} to use it, or delete it"
            )
        elif one["metadata"]["name"] == FLEET:
            fault = (
                f"has the name of ours, and serves {given.get('host')}:{given.get('port')}. Delete it, or use it: set "
                "skupper_listener_host, skupper_listener_port and skupper_listener_routing_key to its own"
            )
        if fault:
            return Plan(fault=f"{state.named(one)}, created by someone else, {fault}")
    if service is not None:
        chosen = (service.get("spec") or {}).get("selector") or {}
        of_skupper = "internal.skupper.io/listener" in (service["metadata"].get("labels") or {}) or ROUTER.items() <= chosen.items()
        if not of_skupper:
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
    for one in split(found)[1]:
        given, fault = one.get("spec") or {}, ""
        if text(given.get("routingKey")) == spec.key:
            if integer(given.get("port")) == FLEET_PORT or given.get("host"):
                return _adopt(one)
            fault = (
                f"leads to port {given.get('port')}, but sites are served on {FLEET_PORT}. Delete it, correct its port, or "
                "select another key (skupper_listener_routing_key)"
            )
        elif one["metadata"]["name"] == FLEET:
            fault = (
                f"has the name of ours, and another routing key ({given.get('routingKey')}). Delete it, or use its key (skupper_listener_routing_key)"
            )
        if fault:
            return Plan(fault=f"{state.named(one)}, created by someone else, {fault}")
    return Plan()
