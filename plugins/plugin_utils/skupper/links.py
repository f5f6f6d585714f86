# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about the link of a site to the hub, and about its AccessToken. Pure.

A site is linked when one of its Links is up and leads to the hub's Site, which is identified by its uid: names can exist
twice, addresses change. Both modes result in the same objects, a Secret and a Link for each group of the hub's endpoints, and
are kept up to date in the same way; they only differ in how the first Secret gets into the site.

Source of the rules on tokens: Skupper 2.2.1. Redeemed is final. A token that was refused is retried every 30 seconds without a limit, and
has the reason in its status. The hub counts a redemption before it creates the certificate, so one that fails there is used up, too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..base.secret_data import entries
from ..base.values import text
from ..manifests.skupper import PROXY, SITE_SERVER, groups
from ..spec.network_spec import LinkSpec
from . import link_credentials, state
from .ownership import is_ours, is_redeemed

Object = Mapping[str, Any]

# What to do about a link.
WITHHOLD = "withhold"  # the site is denied: nothing is created or renewed
ADOPT = "adopt"  # someone else's Link leads to the hub
CERTIFICATE = "certificate"  # the Secret comes from the hub's Certificate
KEEP = "keep"  # the Secret is good as it is
HOLD = "hold"  # the Secret stays, though it is of a previous CA: the hub's router would refuse a new one
TOKEN = "token"  # the Secret must come from a token

# What to do about a token.
WAIT, ANEW, REFUSE, DONE = "wait", "anew", "refuse", "done"
NO_TOKEN = "there was none"

# What Skupper reports of a token that cannot be redeemed any more -> why, in words.
_FINAL = (
    (r"deleted site", "it was redeemed for a Site that was deleted later"),
    (r"already exists", "it conflicted with objects of an earlier token"),
    (r"No such claim", "the hub no longer has its grant ({grant})"),
    (r"No such access granted", "its grant was used up"),
    (r"failed response: 403|(?<!connection )refused", "its code is not that of the grant"),
    (r"failed response: (5\d\d)", "the hub failed to create the certificate ({code}), which used it up"),
)


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

    @property
    def has_foreign_secret(self) -> bool:
        """Whether someone else created the Secret."""
        return self.secret is not None and not is_ours(self.secret) and not is_redeemed(self.secret)


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
    redeemed = is_ours(site.token) or is_ours(site.secret) or is_redeemed(site.secret)
    return [
        link
        for link in site.links
        if is_ours(link)
        or (redeemed and of_token.fullmatch(link["metadata"]["name"]) and text((link.get("spec") or {}).get("tlsCredentials")) == spec.name)
    ]


def decide(spec: LinkSpec, hub: Hub, site: Site, now: datetime.datetime, renew_before: datetime.timedelta | None = None) -> Plan:
    """What to do about the link of a site.

    Args:
        hub: state of the hub.
        site: what the site has.
        renew_before: how long before its expiry the client certificate is renewed; half of its lifetime by default.
    """
    if hub.denied:
        since = f" since {hub.denied['since']}" if hub.denied.get("since") else ""
        return Plan(WITHHOLD, f"the site is denied{since}: its link is neither created nor renewed")
    if hub.site is None:
        return Plan(fault=f"there is no Site in namespace {spec.hub_namespace} of the hub: run federated.flower.site for the hub first")
    if site.site is None:
        return Plan(fault=f"there is no Site in namespace {spec.namespace}: the role skupper_site creates one")
    remote = state.uid(hub.site)
    if state.uid(site.site) == remote:
        return Plan(fault=f"its namespace {spec.namespace} is the hub's own, which needs no link to itself: set flower_connectivity to direct")
    ours = own_links(spec, site)
    theirs = [link for link in site.links if link not in ours]
    working = [link for link in theirs if works(link, remote, site.site)]
    if not ours:
        for link in working or [link for link in theirs if _is_meant_for(link, hub.site)]:
            why = f"{state.named(link)}, created by someone else, leads to the hub"
            warning = (
                f"{state.named(link)} was created by someone else and leads to the hub: it is used as it is, and its "
                "certificate must be renewed by its owner"
            )
            return Plan(ADOPT, why, adopted=link, warnings=(warning,))
    if site.has_foreign_secret and site.secret is not None:
        return Plan(
            fault=f"{state.named({'kind': 'Secret', **site.secret})} exists already, and was not created by this collection. Delete "
            "it, or give the link another name (skupper_link_name)"
        )
    warnings = tuple(f"{state.named(link)}, created by someone else, leads to the hub, too; one link is sufficient" for link in working)
    plan = Plan(CERTIFICATE, names=link_names(spec, site), warnings=warnings)
    if trusted_ca(hub) != hub.ca:
        return _hold(spec, hub, site, now, plan)
    if spec.mode != "token":
        return plan
    # The first Secret comes from a token; later ones come from the hub's Certificate, without a new Link.
    if not ours or not site.entries.get("tls.crt"):
        return replace(plan, do=TOKEN, why="there is no link yet")
    reason = link_credentials.fault(site.entries, hub.ca, now, renew_before)
    return replace(plan, do=CERTIFICATE if reason else KEEP, why=reason)


def works(obj: Object, remote: str, own_site: Object | None = None) -> bool:
    """Whether a Link is up and leads to this Site. See C(state.link)."""
    return bool(remote) and state.is_true(obj, "Ready") and state.link(obj, remote, own_site).ready


def _is_meant_for(link: Object, site: Object) -> bool:
    """Whether a Link has one of a Site's endpoints."""
    wanted = {(text(one.get("host")), text(one.get("port"))) for one in state.status(site).get("endpoints") or []}
    given = (link.get("spec") or {}).get("endpoints") or []
    return any((text(one.get("host")), text(one.get("port"))) in wanted for one in given)


def trusted_ca(hub: Hub) -> str:
    """The CAs of which the certificate of a link must be, PEM; empty when they are not known.

    That is the current one. While the hub's router does not know it, because a rotation of the CA was interrupted, these are the CAs
    that the router trusts: it would refuse what is issued now.
    """
    known = hub.server.get("ca.crt", "")
    if not hub.ca or not known or not hub.server.get("tls.crt"):
        return hub.ca
    return known if link_credentials.refuses(hub.server, hub.ca) else hub.ca


def _hold(spec: LinkSpec, hub: Hub, site: Site, now: datetime.datetime, plan: Plan) -> Plan:
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
    kept = f"the link of {spec.cluster} keeps its certificate, because the hub's Skupper router would refuse a new one: {why}. {remedy}."
    return replace(plan, do=HOLD, warnings=(*plan.warnings, kept))


def link_names(spec: LinkSpec, site: Site) -> dict[str, str]:
    """Group of endpoints -> name of its Link, of ours."""
    found: dict[str, str] = {}
    for link in sorted(own_links(spec, site), key=lambda one: one["metadata"]["name"]):
        for group in groups((link.get("spec") or {}).get("endpoints") or []):
            found.setdefault(group, link["metadata"]["name"])
    return found


def leftovers(spec: LinkSpec, site: Site) -> list[Object]:
    """What must be deleted before a token of the same name can be redeemed: the token, its Links, their Secret.

    Skupper never replaces a Secret that is there: each of its tries would use up a redemption.
    """
    secret = None if site.has_foreign_secret else site.secret
    return [obj for obj in (site.token if is_ours(site.token) else None, *own_links(spec, site), secret) if obj is not None]


def redeemed_uids(spec: LinkSpec, site: Site) -> list[str]:
    """Uids of the Secret and the Links that Skupper created from this collection's token."""
    secrets = [site.secret] if site.secret is not None and is_redeemed(site.secret) else []
    return [uid for obj in [*secrets, *own_links(spec, site)] if (uid := state.uid(obj))]


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
        "and port, and with username and password if the proxy requires them"
    )


def why_not(spec: LinkSpec, hub: Hub, found: Sequence[Object], own_site: Object | None = None) -> str:
    """Why a site is not linked; empty when it is.

    Args:
        hub: state of the hub.
        found: the Links that should lead to it.
        own_site: the site's Site, live.
    """
    states = [(link, state.link(link, state.uid(hub.site), own_site)) for link in found]
    if any(one.ready for _link, one in states):
        return ""
    return "; ".join(f"{state.named(link)}: {one.why}" for link, one in states) or f"there is no Link in namespace {spec.namespace}"


class TokenVerdict(NamedTuple):
    """What to do about a token and why."""

    do: str
    why: str = ""


def token_verdict(spec: LinkSpec, site: Site, grant: Object | None, now: datetime.datetime) -> TokenVerdict:
    """What to do about the AccessToken of a site.

    Args:
        site: what the site has.
        grant: the hub's AccessGrant for the site, live.
        now: the time by the hub's clock.
    """
    token = site.token
    if site.has_foreign_secret:
        return TokenVerdict(
            REFUSE,
            f"Secret {spec.namespace}/{spec.name} exists already, and was not created by this collection: Skupper would not replace it, and "
            "every try would use up a token. Delete it, or give the link another name (skupper_link_name)",
        )
    if token is None:
        return TokenVerdict(ANEW, NO_TOKEN)
    if not is_ours(token):
        return TokenVerdict(
            REFUSE,
            f"{state.named(token)} was created by someone else and has not led to a link. Delete it, or give the link another name (skupper_link_name)",
        )
    message = text(state.status(token).get("message"))
    if (state.status(token).get("redeemed") or state.is_true(token, "Redeemed")) and "deleted site" not in message:
        return TokenVerdict(DONE) if own_links(spec, site) else TokenVerdict(ANEW, "it was redeemed, and its Link was deleted later")
    for pattern, why in _FINAL:
        if found := re.search(pattern, message):
            known = "deleted" if grant is None else ": ".join(filter(None, state.grant(grant, now)))
            return TokenVerdict(ANEW, why.format(grant=known, code=found[1] if found.groups() else ""))
    return TokenVerdict(WAIT, message if message != "OK" and message else "the site's controller has not tried it yet")
