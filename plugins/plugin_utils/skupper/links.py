# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do about the link of a site to the hub. Pure.

A site is linked when one of its Links is up and leads to the hub's Site, which is identified by its uid: names can exist
twice, addresses change. Both modes result in the same objects, a Secret and a Link for each group of the hub's endpoints, and
are kept up to date in the same way; they only differ in how the first Secret gets into the site.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.secret_data import entries
from ..base.values import text
from ..manifests.skupper import PROXY, SITE_SERVER, groups, link_name
from ..spec.network_spec import LinkSpec
from . import link_credentials, state
from .ownership import is_ours, is_redeemed

Object = Mapping[str, Any]

# What to do.
WITHHOLD = "withhold"  # the site is denied: nothing is created or renewed
ADOPT = "adopt"  # someone else's Link leads to the hub
CERTIFICATE = "certificate"  # the Secret comes from the hub's Certificate
KEEP = "keep"  # the Secret is good as it is
HOLD = "hold"  # the Secret stays, though it is of a previous CA: the hub's router would refuse a new one
TOKEN = "token"  # the Secret must come from a token


@dataclass(frozen=True)
class Hub:
    """State of the hub.

    Attributes:
        site: its active Site.
        ca: certificate of the current CA of that Site, PEM; empty when it is not known.
        server: decoded entries of the Secret that its router serves; empty when there is none.
        denied: the denial of this site in the ledger; empty when it is admitted.
    """

    site: Object | None
    ca: str = ""
    server: Mapping[str, str] = field(default_factory=dict, repr=False)
    denied: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """What a site has.

    Attributes:
        site: its active Site.
        links: its Links.
        secret: the Secret of our link's name, with decoded entries in C(entries).
        token: the AccessToken of that name.
    """

    site: Object | None
    links: Sequence[Object] = ()
    secret: Object | None = None
    entries: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: Object | None = None


@dataclass(frozen=True)
class Plan:
    """What to do.

    Attributes:
        do: C(WITHHOLD), C(ADOPT), C(CERTIFICATE), C(KEEP), C(HOLD) or C(TOKEN).
        why: reason, for people.
        fault: why nothing can be done.
        names: group -> name of a Link of ours that is kept.
        adopted: someone else's Link that leads to the hub.
        warnings: sentences.
    """

    do: str = ""
    why: str = ""
    fault: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    adopted: Object | None = None
    warnings: tuple[str, ...] = ()


def own_links(spec: LinkSpec, site: Site) -> list[Object]:
    """Links that this collection created, or that come from its token: those have the token's name."""
    of_token = re.compile(rf"{re.escape(spec.name)}(-\d+)?")
    ours = is_ours(site.token) or is_ours(site.secret) or is_redeemed(site.secret)
    return [
        link
        for link in site.links
        if is_ours(link)
        or (
            ours
            and of_token.fullmatch(link["metadata"]["name"])
            and text((link.get("spec") or {}).get("tlsCredentials")) == spec.name
        )
    ]


def leads_to(link: Object, endpoints: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a Link is meant for one of these endpoints."""
    wanted = {(text(one.get("host")), text(one.get("port"))) for one in endpoints}
    given = (link.get("spec") or {}).get("endpoints") or []
    return any((text(one.get("host")), text(one.get("port"))) in wanted for one in given)


def decide(
    spec: LinkSpec, hub: Hub, site: Site, now: datetime.datetime, renew_before: datetime.timedelta | None = None
) -> Plan:
    """What to do about the link of a site.

    Args:
        hub: state of the hub.
        site: what the site has.
        now: the time to judge by.
        renew_before: how long before its expiry the client certificate is renewed; half of its lifetime by default.
    """
    if hub.denied:
        since = f" since {hub.denied['since']}" if hub.denied.get("since") else ""
        return Plan(WITHHOLD, f"the site is denied{since}: its link is neither created nor renewed")
    fault = _fault(spec, hub, site)
    if fault:
        return Plan(fault=fault)
    remote, endpoints = state.uid(hub.site), state.status(hub.site).get("endpoints") or []
    ours = own_links(spec, site)
    theirs = [link for link in site.links if link not in ours]
    working = [link for link in theirs if state.works(link, remote, site.site)]
    if not ours:
        for link in working or [link for link in theirs if leads_to(link, endpoints)]:
            return Plan(
                ADOPT,
                f"{state.named(link)}, created by someone else, leads to the hub",
                adopted=link,
                warnings=(
                    f"{state.named(link)} was created by someone else and leads to the hub: it is used as it is, and its "
                    "certificate must be renewed by its owner",
                ),
            )
    if site.secret is not None and not is_ours(site.secret) and not is_redeemed(site.secret):
        return Plan(
            fault=f"{state.named({'kind': 'Secret', **site.secret})} exists already, and was not created by this collection. Delete "
            "it, or give the link another name (skupper_link_name)"
        )
    warnings = tuple(
        f"{state.named(link)}, created by someone else, leads to the hub, too; one link is sufficient"
        for link in working
    )
    names = _names(ours)
    if trusted_ca(hub) != hub.ca:
        return _held(spec, hub, site, now, Plan(HOLD, "", names=names, warnings=warnings))
    if spec.mode == "token":
        # The first Secret comes from a token; later ones come from the hub's Certificate, without a new Link.
        if not ours or not site.entries.get("tls.crt"):
            return Plan(TOKEN, "there is no link yet", names=names, warnings=warnings)
        reason = link_credentials.fault(site.entries, hub.ca, now, renew_before)
        if not reason:
            return Plan(KEEP, "", names=names, warnings=warnings)
        return Plan(CERTIFICATE, reason, names=names, warnings=warnings)
    return Plan(CERTIFICATE, "", names=names, warnings=warnings)


def _fault(spec: LinkSpec, hub: Hub, site: Site) -> str:
    if hub.site is None:
        return f"there is no Site in namespace {spec.hub_namespace} of the hub: run federated.flower.site for the hub first"
    if site.site is None:
        return f"there is no Site in namespace {spec.namespace}: the role skupper_site creates one"
    if state.uid(site.site) == state.uid(hub.site):
        return f"its namespace {spec.namespace} is the hub's own, which needs no link to itself: set flower_connectivity to direct"
    return ""


def trusted_ca(hub: Hub) -> str:
    """The CAs of which the certificate of a link must be, PEM; empty when they are not known.

    That is the current one. While the hub's router does not know it, because a rotation of the CA was interrupted, these are the CAs
    that the router trusts: it would refuse what is issued now.
    """
    known = hub.server.get("ca.crt", "")
    if not hub.ca or not known or not hub.server.get("tls.crt"):
        return hub.ca
    return known if link_credentials.refuses(hub.server, hub.ca) else hub.ca


def _held(spec: LinkSpec, hub: Hub, site: Site, now: datetime.datetime, plan: Plan) -> Plan:
    """What to do while the hub's router would refuse a new certificate: the site keeps the one that it has, until it expires."""
    why = f"Secret {spec.hub_namespace}/{SITE_SERVER} of the hub does not contain the current CA of its Site"
    remedy = (
        "Run federated.flower.skupper_rotate, which continues the rotation of the CA"
        if is_ours(hub.site)
        else "That Site was created by someone else, who must add its CA to ca.crt of the Secret"
    )
    if link_credentials.fault(site.entries, trusted_ca(hub), now, datetime.timedelta()):
        return Plan(
            fault=f"{spec.cluster} has no certificate that the hub's Skupper router accepts, and would get none, because {why}. {remedy}. "
            "Then run this playbook again"
        )
    held = f"the link of {spec.cluster} keeps its certificate, because the hub's Skupper router would refuse a new one: {why}. {remedy}."
    return replace(plan, warnings=(*plan.warnings, held))


def _names(ours: Iterable[Object]) -> dict[str, str]:
    """Group -> name of its Link."""
    found: dict[str, str] = {}
    for link in sorted(ours, key=lambda one: one["metadata"]["name"]):
        for group in groups((link.get("spec") or {}).get("endpoints") or []):
            found.setdefault(group, link["metadata"]["name"])
    return found


def leftovers(spec: LinkSpec, site: Site) -> list[Object]:
    """What must be deleted before a token of the same name can be redeemed: the token, its Links, their Secret.

    Skupper never replaces a Secret that is there: each of its tries would use up a redemption.
    """
    going = [site.token] if is_ours(site.token) else []
    going += own_links(spec, site)
    if site.secret is not None and (is_ours(site.secret) or is_redeemed(site.secret)):
        going.append(site.secret)
    return [obj for obj in going if obj is not None]


def redeemed_uids(spec: LinkSpec, site: Site) -> list[str]:
    """Uids of the Secret and the Links that Skupper created from this collection's token."""
    secrets = [site.secret] if site.secret is not None and is_redeemed(site.secret) else []
    return [uid for obj in [*secrets, *own_links(spec, site)] if (uid := text(obj["metadata"].get("uid")))]


def outlived(spec: LinkSpec, site: Site) -> list[Object]:
    """Links of ours that must be recreated: those that are older than their Site, which its router never gets; and those without a proxy that get one,
    with which Skupper's controller, 2.2 at least, ends with a null pointer (internal/kube/site/site.go: the Secret is read for a new Link only)."""
    return [
        link for link in own_links(spec, site) if state.outlived(link, site.site) or (spec.proxy_secret and not (link["spec"].get("settings") or {}).get(PROXY))
    ]


def proxy_fault(spec: LinkSpec, secret: Object | None) -> str:
    """Why the Secret of the proxy is of no use, a sentence without its full stop; empty if it is. Skupper's controller ends with a null pointer if a Link names
    one that is not there.

    Args:
        secret: that Secret, live.
    """
    found = entries(secret)
    missing = [key for key in ("host", "port") if not found.get(key)]
    if not missing:
        return ""
    what = f"has no {' and no '.join(missing)}" if secret is not None else "does not exist"
    return (
        f"Secret {spec.namespace}/{spec.proxy_secret}, the proxy of the link (skupper_link_proxy_secret), {what}. Create it in the site's cluster, with host "
        "and port, and with username and password if the proxy asks for them"
    )


def redeemed_names(spec: LinkSpec, site: Site) -> dict[str, str]:
    """Group -> name of the Links from a token."""
    return _names(own_links(spec, site))


def why_not(spec: LinkSpec, hub: Hub, found: Sequence[Object], own_site: Object | None = None) -> str:
    """Why a site is not linked; empty when it is.

    Args:
        hub: state of the hub.
        found: the Links that should lead to it.
        own_site: the site's Site, live.
    """
    remote = state.uid(hub.site)
    states = [(link, state.link(link, remote, own_site)) for link in found]
    if any(one.ready for _link, one in states):
        return ""
    if not found:
        return f"there is no Link in namespace {spec.namespace}"
    return "; ".join(f"{state.named(link)}: {one.why}" for link, one in states)


def token_verdict(spec: LinkSpec, site: Site, grant: Object | None, now: datetime.datetime) -> state.TokenVerdict:
    """What to do about the token of a site.

    Args:
        site: what the site has.
        grant: the hub's AccessGrant for the site, live.
        now: the time by the hub's clock.
    """
    reported = "deleted" if grant is None else ": ".join(filter(None, state.grant(grant, now)))
    foreign = site.secret is not None and not is_ours(site.secret) and not is_redeemed(site.secret)
    return state.judge_token(
        site.token,
        reported,
        linked=bool(own_links(spec, site)),
        secret_in_the_way=f"{spec.namespace}/{spec.name}" if foreign else "",
        ours=is_ours(site.token),
    )


__all__ = [
    "ADOPT",
    "CERTIFICATE",
    "HOLD",
    "KEEP",
    "TOKEN",
    "WITHHOLD",
    "Hub",
    "Plan",
    "Site",
    "decide",
    "leads_to",
    "leftovers",
    "link_name",
    "outlived",
    "own_links",
    "proxy_fault",
    "redeemed_names",
    "token_verdict",
    "trusted_ca",
    "why_not",
]
