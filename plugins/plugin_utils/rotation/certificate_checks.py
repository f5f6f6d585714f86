# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names that sites verify, and whether they would accept the certificate that the gateway will serve, before anything is changed. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..base.addresses import is_host, is_ip, split_address
from ..manifests import exposure
from ..manifests.exposure import exposure_of
from ..pki import chain
from ..pki.chain import ChainError
from ..spec.hub_spec import HubSpec
from .certificate_plan import Plan

if TYPE_CHECKING:
    from cryptography import x509

_SHOWN = 3


@dataclass(frozen=True)
class SiteNames:
    """A site's variables about its connection to the hub.

    Attributes:
        site: its inventory name.
        address: C(supernode_superlink_address), or empty for the one that the hub publishes.
        server_name: C(supernode_server_name), or empty for the one that the hub publishes.
        sidecar: whether a sidecar connects to the hub for its SuperNodes.
    """

    site: str
    address: str = ""
    server_name: str = ""
    sidecar: bool = True


def verified_names(spec: HubSpec, address: str, sites: Sequence[SiteNames]) -> dict[str, str]:
    """Names that the gateway's certificate must cover -> who verifies them, for people.

    A sidecar verifies C(FlowerSpec.verified_name): HAProxy compares names with DNS entries only.
    A SuperNode without one verifies the host of the address that it connects to, an IP address too. A value that is neither a
    DNS name nor an IP address is left out: the checks of its site report it. C(address), host and port that the hub publishes, is empty while it
    is not known; names that depend on it are then omitted.
    """
    found: dict[str, list[str]] = {}
    for site in sites or [SiteNames("sites")]:
        name = _verified(spec, address, site)
        if is_host(name):
            found.setdefault(name, []).append(site.site)
    return {name: _people(who) for name, who in found.items()}


@dataclass(frozen=True)
class Routing:
    """Names by which something in front of the gateway does not find it. Sentences have the names, who verifies them, and the remedy.

    Attributes:
        faults: due to the hub's variables.
        of_sites: a site -> the fault in its own variables, which concerns no other site.
        warnings: the faults of sites.
    """

    faults: list[str] = field(default_factory=list)
    of_sites: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def routing(spec: HubSpec, address: str, sites: Sequence[SiteNames]) -> Routing:
    """Where something in front of the gateway passes TLS through: the names by which it does not find the gateway. C(address): see C(verified_names).

    What sites verify is also the name (SNI) of their handshake. A site that connects to a host of the Route or Ingress, or to the address that is read
    from the cluster, does not reach the gateway by another one.
    """
    found = Routing()
    names = exposure.routed_names(spec, address)
    lost: dict[tuple[str, str, bool], list[str]] = {}
    own_address = "" if spec.superlink_address else _host(address)
    for site in (sites or [SiteNames("sites")]) if names else ():
        name, dialled = _verified(spec, address, site), _host(site.address or address)
        if is_host(name) and not _is_among(name, names) and (_is_among(dialled, names) or dialled == own_address):
            own = name != _verified(spec, address, SiteNames(site.site)) or dialled != _host(address)
            lost.setdefault((name, dialled, own), []).append(site.site)
    for (name, dialled, own), who in lost.items():
        link = f"connects to {dialled} and verifies {name}, but superlink_exposure {spec.exposure} finds the gateway by the name {names[0]} only"
        if own:
            remedy = "Set superlink_host of the hub to a name that resolves to it, or supernode_sidecar to true" if is_ip(name) else (
                "Correct supernode_server_name (flower_server_name) or supernode_superlink_address"
            )
            wrong = f"{link}. {remedy}"
            found.of_sites.update({site: f"{site}: {wrong} of this host" for site in who})
            found.warnings.append(f"{_people(who)}: {wrong} there; until then, the checks of these sites fail")
        else:
            found.faults.append(
                f"{_people(who)}: {link}. Set superlink_host to {name}, and superlink_address to {address} where sites cannot resolve "
                "that; or remove flower_server_name (superlink_server_name)"
            )
    return found


def _is_among(name: str, names: Sequence[str]) -> bool:
    """Whether one of the names of a Route or Ingress is this one, or has a star for its first label."""
    known = {one.lower() for one in names}
    return name.lower() in known or f"*.{name.partition('.')[2]}".lower() in known


def name_variable(spec: HubSpec) -> str:
    """The variable that decides which name sites verify. Where TLS is passed through, the gateway must be found by that name."""
    return "superlink_host" if exposure_of(spec).passes_tls else "flower_server_name"


def _verified(spec: HubSpec, address: str, site: SiteNames) -> str:
    """The name that a site verifies; empty while it depends on an address that is not known."""
    if not site.sidecar:
        return _host(site.address or address)
    published = replace(spec, superlink_address=address).verified_name if address or spec.server_name else ""
    return site.server_name or published


def _host(address: str) -> str:
    """The host of an address; empty when it is not host:port."""
    try:
        return split_address(address)[0]
    except ValueError:
        return ""


def _people(who: list[str]) -> str:
    more = f" and {len(who) - _SHOWN} more" if len(who) > _SHOWN else ""
    return ", ".join(who[:_SHOWN]) + more


def faults(
    plan: Plan, needed: Mapping[str, str], clocks: Mapping[str, datetime.datetime], name_variable: str = "flower_server_name"
) -> list[str]:
    """Why sites would refuse the certificate of a plan without faults; empty when they would not, or when it is not there yet.

    Args:
        needed: names that sites verify -> who verifies them (C(verified_names)).
        clocks: whose clock -> what it shows.
        name_variable: the variable that decides which name sites verify.

    Returns:
        Sentences with the variable or Secret, the value and the remedy, without parts of keys.
    """
    if not plan.certificate:
        return []
    try:
        served = chain.read(plan.certificate)
    except ChainError as error:
        return [f"{plan.where} {error}; put the certificate there, and its chain behind it"]
    found: list[str] = []

    def check(one: Callable[[], None], words: str) -> bool:
        try:
            one()
        except ChainError as error:
            found.append(words.format(error))
            return False
        return True

    check(lambda: chain.check_key(served[0], plan.key), f"{plan.key_where} {{}}; use the private key with which {plan.where} was requested")
    dns, addresses = chain.names(served[0])
    found += [
        f"{plan.where} does not cover {name}, against which it is verified by {who}; it covers {', '.join([*dns, *addresses]) or 'no name at all'}. "
        f"Have it issued with {name} as a subject alternative name, or set {name_variable} to one of its DNS names, which sites then verify"
        for name, who in needed.items()
        if not chain.covers(served[0], name)
    ]
    try:
        trusted = chain.read(plan.trust)
    except ChainError as error:
        return [*found, f"{plan.trust_where} {error}; set it to the root CA that sites must trust"]
    try:
        path = chain.path(served, trusted)
    except ChainError as error:
        path = served[:1]
        found.append(
            f"{plan.where}: its chain {error}. Trusted are {', '.join(map(chain.subject, trusted))} ({plan.trust_where}). Put "
            f"missing intermediates behind the certificate, and its root into {plan.trust_where}"
        )
    for one in (lambda: chain.check_use(path), lambda: chain.check_times(path, clocks)):
        check(one, f"{plan.where}: {{}}; renew or reissue it, and correct wrong clocks")
    return found


def warnings(plan: Plan, now: datetime.datetime) -> list[str]:
    """Sentences on a certificate without faults, or a CA of its chain, that is not being renewed: a third of its lifetime or 30 days are left."""
    if not plan.certificate:
        return []
    leaf, *cas = chain.path(chain.read(plan.certificate), chain.read(plan.trust))
    found = []
    if _ends_soon(leaf, now):
        found.append(f"{plan.where} expires on {leaf.not_valid_after_utc.isoformat()}, and it has not been renewed")
    # Certificates that a CA issues are renewed until its last day, and none is accepted after that.
    return found + [
        f"{plan.where} is of the CA {chain.subject(ca)}, which expires on {ca.not_valid_after_utc.isoformat()}: no site can connect after that. Change "
        "to a new CA before; sites must trust both for some time"
        for ca in cas
        if _ends_soon(ca, now)
    ]


def _ends_soon(certificate: x509.Certificate, now: datetime.datetime) -> bool:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return end - now <= min((end - start) / 3, datetime.timedelta(days=30))
