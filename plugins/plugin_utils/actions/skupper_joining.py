# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The join of a site with the hub: reads both, gets a client certificate for the link, by Certificate or by token.

Every step reads first and writes one object, so the next run completes an interrupted one. Secrets are passed from one
cluster to the other in memory, and are never shown.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.secret_data import entries
from ..base.values import text
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import skupper
from ..manifests.skupper import API
from ..skupper import cluster_state, link_credentials, links, site_plan, state
from ..skupper.ownership import is_ours
from ..skupper.state import State
from ..spec.network_spec import LinkSpec
from ..state.ledger import Ledger
from .skupper_action import Object, SkupperAction

ROUNDS = 3  # tokens that are tried in one run: three bad ones in a row have another cause
_SET = skupper.applyset(skupper.LINK)


class Join:
    """One site and the hub.

    Args:
        action: keeps account of what is done.
        hub: a connection to the hub.
        site: a connection to the site.
        seconds: how long to wait for one thing.
        renew_before: see C(links.decide).
    """

    def __init__(
        self,
        action: SkupperAction,
        hub: Cluster,
        site: Cluster,
        spec: LinkSpec,
        seconds: float,
        renew_before: datetime.timedelta | None,
    ) -> None:
        self.action = action
        self.hub = hub
        self.site = site
        self.spec = spec
        self.seconds = seconds
        self.renew_before = renew_before
        self.at_hub = spec.hub_namespace
        self.at_site = spec.namespace

    def now(self) -> datetime.datetime:
        """The time of the hub's clock, which applies to the expiry of grants and certificates."""
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.hub.skew or 0)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def look_at_hub(self) -> links.Hub:
        """The state of the hub."""
        found = site_plan.active(cluster_state.listed(self.hub, "Site", self.at_hub))
        denied = Ledger(self.hub, self.at_hub, self.spec.federation).read_denial(self.spec.cluster)
        ca = entries(self.hub.get("v1", "Secret", cluster_state.ca_name(found), self.at_hub)) if found else {}
        server = entries(self.hub.get("v1", "Secret", skupper.SITE_SERVER, self.at_hub)) if found else {}
        return links.Hub(found, ca.get("tls.crt", ""), server, denied)

    def look_at_site(self) -> links.Site:
        """What the site has."""
        if self.site.get("v1", "Namespace", self.at_site) is None:
            return links.Site(None)
        secret = self.site.get("v1", "Secret", self.spec.name, self.at_site)
        return links.Site(
            site_plan.active(cluster_state.listed(self.site, "Site", self.at_site)),
            cluster_state.listed(self.site, "Link", self.at_site),
            {**secret, "apiVersion": "v1", "kind": "Secret"} if secret else None,
            entries(secret),
            self.action.read(self.site, "AccessToken", self.spec.name, self.at_site),
        )

    # ---- by the hub's Certificate ------------------------------------------------------------------------------------

    def certificate(self, hub: links.Hub, *, renew: bool = False) -> dict[str, str]:
        """Entries of the hub's Secret for this site's link, created or recreated where they are not valid.

        Args:
            hub: the state of the hub.
            renew: whether a Secret that is there is recreated even if it is valid.

        Returns:
            The entries; in check mode empty where they would be created.
        """
        name = skupper.certificate_name(self.spec.cluster)
        live = self.action.read(self.hub, "Certificate", name, self.at_hub)
        if live is not None and not is_ours(live):
            raise ClusterError(
                f"{state.named(live)} on {self.hub.name} was created by someone else, and has the name of the one for the link of "
                f"{self.spec.cluster}. Delete it."
            )
        # Read before the Certificate is applied: the Secret that it leads to is new.
        previous = state.uid(self.hub.get("v1", "Secret", name, self.at_hub)) if renew else ""
        wanted = skupper.certificate(self.spec, cluster_state.ca_name(hub.site))
        self.action.apply(self.hub, [wanted], at_hub=True, applyset=_SET, applyset_namespace=self.at_hub, prune=False)
        asked, secret = False, None

        def look() -> State:
            nonlocal asked, secret
            secret = self.hub.get("v1", "Secret", name, self.at_hub)
            fault = self._fault(secret, hub, previous)
            if secret is not None and fault and not asked and not self.action.check:
                # Skupper recreates it when it is deleted, and for no other reason before its expiry.
                asked = True
                self._delete_secret(name, secret, fault)
                return State(False, "its Secret was deleted to be recreated")
            of = self.action.read(self.hub, "Certificate", name, self.at_hub)
            if of is None:
                return State(False, "it is not there")
            found = state.certificate(of, secret)
            return State(False, fault) if found.ready and fault else found

        found = self.action.wait(self.seconds, look)
        if not found.ready:
            if self.action.check:
                self.action.done["changed"] = True
                return {}
            raise ClusterError(
                f"Certificate {self.at_hub}/{name} on {self.hub.name}, for the link of {self.spec.cluster}, has not led to a valid Secret "
                f"after {self.seconds:g} s: {found.why}."
            )
        return entries(secret)

    def _fault(self, secret: Mapping[str, Any] | None, hub: links.Hub, previous: str) -> str:
        if previous and state.uid(secret) == previous:
            return "a new one was requested"
        return link_credentials.link_fault(entries(secret), hub.ca, self.spec.cluster, self.now(), self.renew_before)

    def _delete_secret(self, name: str, secret: Mapping[str, Any], why: str) -> None:
        try:
            self.hub.delete("v1", "Secret", name, self.at_hub, uid=secret["metadata"]["uid"], propagation="Background")
        except Conflict:
            return  # recreated meanwhile
        self.action.done["changed"] = True
        self.action.done["hub_objects"].append(
            {"apiVersion": "v1", "kind": "Secret", "namespace": self.at_hub, "name": name, "change": "deleted"}
        )
        self.action.note(
            self.hub.name,
            objects=[{"change": "deleted", "object": f"Secret {self.at_hub}/{name} (to be recreated: {why})"}],
        )

    # ---- by a token --------------------------------------------------------------------------------------------------

    def redeem(self) -> list[str]:
        """Get Secret and Links by a token; returns why tokens were recreated.

        Raises:
            ClusterError: it cannot be done, or no token worked.
        """
        reasons: list[str] = []
        while True:
            verdict = self._wait_token()
            if verdict.do == state.DONE:
                return reasons
            if verdict.do == state.REFUSE:
                raise ClusterError(f"{verdict.why}.")
            if verdict.do == state.WAIT:
                # Skupper's controller tries it again and again, up to 2.2.1 without a time limit, and serves no namespace of the cluster meanwhile
                # (internal/kube/grants/redeem.go).
                token = self.look_at_site().token
                self.action.remove(self.site, [token] if token is not None and is_ours(token) else [], self.seconds)
                raise ClusterError(self._stuck(verdict.why))
            if len(reasons) == ROUNDS:
                raise ClusterError(
                    f"AccessToken {self.at_site}/{self.spec.name} on {self.site.name} did not lead to a link in {ROUNDS} tries: "
                    f"{'; '.join(dict.fromkeys([*reasons, verdict.why]))}. Do the clocks agree, and does someone else write it, too?"
                )
            reasons.append(verdict.why)
            self._token_anew()

    def _verdict(self) -> state.TokenVerdict:
        grant = self.action.read(self.hub, "AccessGrant", skupper.grant_name(self.spec.cluster), self.at_hub)
        return links.token_verdict(self.spec, self.look_at_site(), grant, self.now())

    def _wait_token(self) -> state.TokenVerdict:
        last = state.TokenVerdict(state.WAIT)

        def look() -> State:
            nonlocal last
            last = self._verdict()
            return State(last.do != state.WAIT, last.why)

        self.action.wait(self.seconds, look)
        return last

    def _stuck(self, why: str) -> str:
        return (
            f"AccessToken {self.at_site}/{self.spec.name} on {self.site.name} was not redeemed after {self.seconds:g} s: {why}. The site's "
            "Skupper controller calls the url of the hub's grant server, without a proxy: is there a way, and a NetworkPolicy that opens "
            "it? skupper_link_mode: direct needs none. The token was deleted, because the controller would try it again and again; the next run creates one."
        )

    def _token_anew(self) -> None:
        own = self.look_at_site()
        self.action.remove(self.site, links.leftovers(self.spec, own), self.seconds)
        grant = self._grant()
        found = {key: text(state.status(grant).get(key)) for key in ("url", "code", "ca")}
        self.action.apply(
            self.site,
            [skupper.access_token(self.spec, found)],
            applyset=_SET,
            applyset_namespace=self.at_site,
            prune=False,
        )

    def _grant(self) -> Object:
        """An unused grant. Its expiry and its code cannot be changed, so an old one is replaced."""
        name = skupper.grant_name(self.spec.cluster)
        live = self.action.read(self.hub, "AccessGrant", name, self.at_hub)
        if live is not None and not is_ours(live):
            raise ClusterError(
                f"{state.named(live)} on {self.hub.name} was created by someone else, and has the name of the one for "
                f"{self.spec.cluster}. Delete it."
            )
        if live is not None and state.grant(live, self.now())[0] in (state.EXPIRED, state.EXHAUSTED):
            self.action.remove(self.hub, [live], self.seconds, at_hub=True)
        self.action.apply(
            self.hub,
            [skupper.access_grant(self.spec)],
            at_hub=True,
            applyset=_SET,
            applyset_namespace=self.at_hub,
            prune=False,
        )

        def look() -> State:
            found = self.action.read(self.hub, "AccessGrant", name, self.at_hub)
            if found is None:
                return State(False, "it was deleted by someone else")
            what, why = state.grant(found, self.now())
            return State(what == state.USABLE, f"it is {what}: {why}", what in (state.EXPIRED, state.EXHAUSTED))

        found = self.action.wait(self.seconds, look)
        if not found.ready:
            raise ClusterError(
                f"AccessGrant {self.at_hub}/{name} on {self.hub.name} is not usable after {self.seconds:g} s: {found.why}."
            )
        return self.hub.get(API, "AccessGrant", name, self.at_hub) or {}

    def forget_grant(self) -> None:
        """Delete the grant: it has done its work."""
        name = skupper.grant_name(self.spec.cluster)
        live = self.action.read(self.hub, "AccessGrant", name, self.at_hub)
        if live is not None and is_ours(live):
            self.action.remove(self.hub, [live], self.seconds, at_hub=True)
