# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rotation of the certificates of a Skupper network: what is due, and the next step. Pure.

Three things expire: the client certificate of each link, the certificate that the hub's router serves, and the CA of the hub's
Site, which signed both. The Secrets alone are the state of a rotation, so any run can resume it:

===========  ======================================================================================================
stage        content of the hub's Secrets
===========  ======================================================================================================
C(COMPLETE)   the router's certificate is of the current CA, and its router trusts that one alone
C(BEGUN)     there is a new CA, which the router does not trust yet
C(OVERLAP)   the router trusts both, and serves a certificate of the old one: sites change over, one by one
C(TRIMMED)   the router serves a certificate of the new CA, and someone configured it to trust others as well
===========  ======================================================================================================

From C(OVERLAP) the router's own certificate may only be replaced when every site has changed over, since Skupper makes the
Secret again with the new CA alone in it. A site changes over by the action C(skupper) for links: it detects that its certificate is of
another CA than the current one, gets a new one, and trusts what the hub's router serves and trusts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..pki import certificates
from . import link_credentials, state

COMPLETE, BEGUN, OVERLAP, TRIMMED, NONE = "complete", "begun", "overlap", "trimmed", "none"

LINK, SERVER, CA = "link", "server", "ca"
DUE = "due"
CHOICES = (DUE, LINK, SERVER, CA)

# Steps of the hub.
REPLACE_CA, TRUST_BOTH, REPLACE_SERVER = "replace_ca", "trust_both", "replace_server"

Entries = Mapping[str, str]


@dataclass(frozen=True)
class Hub:
    """Content of the hub's Secrets.

    Attributes:
        ca: certificate of the CA of the Site, PEM; empty when there is none.
        server: decoded entries of the Secret that the router serves.
        links: site -> certificate of its link, PEM, as the hub created it.
    """

    ca: str = ""
    server: Entries = field(default_factory=dict, repr=False)
    links: Mapping[str, str] = field(default_factory=dict)


def stage(hub: Hub) -> str:
    """Where a change of the CA is."""
    if not hub.ca or not hub.server.get("tls.crt"):
        return NONE
    if link_credentials.refuses(hub.server, hub.ca):
        return BEGUN
    if not link_credentials.issued_by(hub.server["tls.crt"], hub.ca):
        return OVERLAP
    trusted = hub.server.get("ca.crt", "")
    return COMPLETE if link_credentials.same_authorities(trusted, certificates.first(hub.ca)) else TRIMMED


def is_rotating(hub: Hub) -> bool:
    """Whether a rotation of the CA was started and is not complete."""
    return stage(hub) in (BEGUN, OVERLAP)


def facts(hub: Hub) -> list[dict[str, Any]]:
    """Public facts of all certificates of the hub: C(what), C(kind) and those of C(credentials.describe)."""
    found = [
        ("the CA of the Skupper network", CA, hub.ca),
        ("the certificate of the hub's Skupper router", SERVER, hub.server.get("tls.crt", "")),
    ]
    found += [(f"the certificate of the link of {site}", LINK, pem) for site, pem in sorted(hub.links.items())]
    return [{"what": what, "kind": kind, **link_credentials.describe(pem)} for what, kind, pem in found if pem]


def due(hub: Hub, now: datetime.datetime, renew_before: datetime.timedelta | None = None) -> dict[str, str]:
    """Kind -> why something of that kind must be replaced.

    A CA that is replaced has its leaves replaced as well.

    Args:
        hub: content of the hub's Secrets.
        renew_before: how long before its expiry; half of its lifetime by default.
    """
    late = [site for site, pem in sorted(hub.links.items()) if link_credentials.due(pem, now, renew_before)]
    found = {
        CA: "the rotation of the CA was started" if is_rotating(hub) else link_credentials.due(hub.ca, now, renew_before),
        SERVER: link_credentials.due(hub.server.get("tls.crt", ""), now, renew_before),
        LINK: f"those of {', '.join(late)} expire" if late else "",
    }
    return {kind: why for kind, why in found.items() if why}


def todo(choice: str, hub: Hub, now: datetime.datetime, renew_before: datetime.timedelta | None = None) -> dict[str, str]:
    """Kind -> why it is replaced, for what was requested (C(CHOICES)); a started rotation is always resumed."""
    found = due(hub, now, renew_before)
    if choice != DUE:
        found = {kind: why for kind, why in found.items() if kind == CA and is_rotating(hub)}
        found.setdefault(choice, "it was requested")
    return found


def next_step(hub: Hub, wanted: Iterable[str], *, changed_over: bool) -> str:
    """The hub's next step; empty when it has none (now).

    Args:
        hub: content of the hub's Secrets.
        wanted: kinds to replace that were not replaced yet.
        changed_over: whether every site has a certificate of the current CA and trusts it.
    """
    now, kinds = stage(hub), set(wanted)
    if now == BEGUN:
        return TRUST_BOTH
    if now == OVERLAP:
        return REPLACE_SERVER if changed_over else ""
    if now == NONE:
        return ""
    return REPLACE_CA if CA in kinds else REPLACE_SERVER if SERVER in kinds else ""


def first_of_revocation(hub: Hub, since: datetime.datetime | None) -> str:
    """The step that a revocation does before all others; empty when it has none.

    If a rotation was started earlier, its CA may have signed a certificate of the site, which would be accepted after that rotation. So
    there must be yet another CA. One that is more recent than C(since), such as that of an interrupted revocation, has signed none.

    Args:
        hub: content of the hub's Secrets.
        since: since when the hub has issued nothing for the site, by the hub's clock; None when it has until now, or it is not known.
    """
    if not is_rotating(hub):
        return ""
    start = datetime.datetime.fromisoformat(link_credentials.describe(hub.ca)["not_before"])
    return REPLACE_CA if since is None or start <= since else ""


def lagging(hub: Hub, sites: Iterable[str], reports: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Site -> why it has not changed over to the current CA.

    Args:
        hub: content of the hub's Secrets.
        sites: all that must.
        reports: results of the action C(skupper) for links, each with C(site).
    """
    wanted = link_credentials.describe(hub.ca).get("serial")
    reported = {report["site"]: report for report in reports if report.get("site")}
    found = {}
    for site in sites:
        report = reported.get(site) or {}
        link = report.get("link") or {}
        if not link:
            found[site] = str(report.get("msg") or "this run did not reach it")
        elif link.get("adopted"):
            found[site] = "its link was created by someone else, who must renew it"
        elif wanted not in (link.get("trusts") or []):
            found[site] = "it does not trust the new CA yet"
        elif not link.get("ready"):
            found[site] = "its link is not up"
    return found


def strangers(site: Mapping[str, Any] | None, known: Iterable[str]) -> list[str]:
    """Names of sites that link to the hub and are not ours: a rotation of the CA would close their connections.

    Args:
        site: the hub's Site, live. Its view of deleted links may be outdated (Skupper issue 2069).
        known: uids of sites that this run handled, or that are revoked.
    """
    mine, ours = state.uid(site), set(known)
    return sorted(
        one.get("name") or one.get("id", "?")
        for one in state.status(site).get("network") or []
        if one.get("id") not in (mine, *ours) and any(link.get("remoteSiteId") == mine and link.get("operational") for link in one.get("links") or [])
    )
