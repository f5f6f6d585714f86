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
from dataclasses import dataclass
from typing import Any

from ..apply.readiness import State
from ..base.errors import ClusterError
from ..base.secret_data import entries
from ..base.values import text
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import skupper
from ..skupper import cluster_state, link_credentials, links, site_plan, state
from ..skupper.ownership import is_ours
from ..spec.network_spec import LinkSpec
from ..state.ledger import Ledger
from .skupper_action import Object, SkupperAction

ROUNDS = 3  # tokens that are tried in one run: three bad ones in a row have another cause
_SET = skupper.applyset(skupper.LINK)


@dataclass
class Join:
    """One site and the hub.

    Attributes:
        action: keeps account of what is done.
        hub: a connection to the hub.
        site: a connection to the site.
        spec: of the link.
        seconds: how long to wait for one thing.
    """

    action: SkupperAction
    hub: Cluster
    site: Cluster
    spec: LinkSpec
    seconds: float

    @property
    def now(self) -> datetime.datetime:
        """The time of the hub's clock, which applies to the expiry of grants and certificates."""
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.hub.skew or 0)

    def hub_state(self) -> links.Hub:
        """The state of the hub."""
        namespace = self.spec.hub_namespace
        found = site_plan.active(cluster_state.listed(self.hub, "Site", namespace))
        denied = Ledger(self.hub, namespace, self.spec.federation).read_denial(self.spec.cluster)
        if found is None:
            return links.Hub(None, denied=denied)
        ca, server = (entries(self.hub.get("v1", "Secret", name, namespace)) for name in (cluster_state.ca_name(found), skupper.SITE_SERVER))
        return links.Hub(found, ca.get("tls.crt", ""), server, denied)

    def site_state(self) -> links.Site:
        """What the site has."""
        namespace = self.spec.namespace
        if self.site.get("v1", "Namespace", namespace) is None:
            return links.Site(None)
        secret = self.site.get("v1", "Secret", self.spec.name, namespace)
        return links.Site(
            site_plan.active(cluster_state.listed(self.site, "Site", namespace)),
            cluster_state.listed(self.site, "Link", namespace),
            {**secret, "apiVersion": "v1", "kind": "Secret"} if secret else None,
            entries(secret),
            cluster_state.read(self.site, "AccessToken", self.spec.name, namespace),
        )

    def _at_hub(self, kind: str, name: str) -> Object | None:
        """One of the hub's objects for this link; refused if someone else created it."""
        live = cluster_state.read(self.hub, kind, name, self.spec.hub_namespace)
        if live is not None and not is_ours(live):
            raise ClusterError(
                f"{state.named(live)} on {self.hub.name} was created by someone else, and has the name of the one for the link of "
                f"{self.spec.cluster}. Delete it."
            )
        return live

    def _apply(self, wanted: Object, *, at_hub: bool) -> None:
        cluster, namespace = (self.hub, self.spec.hub_namespace) if at_hub else (self.site, self.spec.namespace)
        self.action.apply(cluster, [wanted], at_hub=at_hub, applyset=_SET, applyset_namespace=namespace, prune=False)

    # ---- by the hub's Certificate ------------------------------------------------------------------------------------

    def certificate(self, hub: links.Hub, *, renew: bool = False) -> dict[str, str]:
        """Entries of the hub's Secret for this site's link, created or recreated where they are not valid.

        Args:
            hub: the state of the hub.
            renew: whether a Secret that is there is recreated even if it is valid.

        Returns:
            The entries; in check mode empty where they would be created.
        """
        name, namespace = skupper.certificate_name(self.spec.cluster), self.spec.hub_namespace
        self._at_hub("Certificate", name)
        # Read before the Certificate is applied: the Secret that it leads to is new.
        previous = state.uid(self.hub.get("v1", "Secret", name, namespace)) if renew else ""
        self._apply(skupper.certificate(self.spec, cluster_state.ca_name(hub.site)), at_hub=True)
        deleted, secret = False, None

        def read_state() -> State:
            nonlocal deleted, secret
            secret = self.hub.get("v1", "Secret", name, namespace)
            fault = link_credentials.fault(entries(secret), hub.ca, self.now, self.spec.renew_before, self.spec.cluster)
            if previous and state.uid(secret) == previous:
                fault = "a new one was requested"
            if secret is not None and fault and not deleted and not self.action.check:
                # Skupper recreates it when it is deleted, and for no other reason before its expiry.
                deleted = True
                self._delete_secret(name, secret, fault)
                return State(False, "its Secret was deleted to be recreated")
            live = self._at_hub("Certificate", name)
            found = state.certificate(live, secret) if live else State(False, "it is not there")
            return State(False, fault) if found.ready and fault else found

        problem = f"Certificate {namespace}/{name} on {self.hub.name}, for the link of {self.spec.cluster}, has not produced a valid Secret"
        if self.action.wait_for(problem, self.seconds, read_state).ready:
            return entries(secret)
        self.action.done["changed"] = True
        return {}

    def _delete_secret(self, name: str, secret: Mapping[str, Any], why: str) -> None:
        namespace = self.spec.hub_namespace
        try:
            self.hub.delete("v1", "Secret", name, namespace, uid=secret["metadata"]["uid"], propagation="Background")
        except Conflict:
            return  # recreated meanwhile
        self.action.note_secret(self.hub, namespace, name, "deleted", f"to be recreated: {why}")

    # ---- by a token --------------------------------------------------------------------------------------------------

    def redeem(self) -> list[str]:
        """Get Secret and Links by a token; returns why tokens were recreated.

        Raises:
            ClusterError: it cannot be done, or no token worked.
        """
        reasons: list[str] = []
        token = f"AccessToken {self.spec.namespace}/{self.spec.name} on {self.site.name}"
        while True:
            verdict = self._verdict()
            if verdict.do == links.DONE:
                return reasons
            if verdict.do == links.REFUSE:
                raise ClusterError(f"{verdict.why}.")
            own = self.site_state()
            if verdict.do == links.WAIT:
                # Skupper's controller tries it again and again, up to 2.2.1 without a time limit, and serves no namespace of the cluster meanwhile
                # (internal/kube/grants/redeem.go).
                self.action.remove(self.site, [own.token] if own.token is not None and is_ours(own.token) else [], self.seconds)
                raise ClusterError(
                    f"{token} was not redeemed after {self.seconds:g} s: {verdict.why}. The site's Skupper controller calls the url of the hub's grant "
                    "server, without a proxy. Check the route to it and the NetworkPolicies on the path. skupper_link_mode: direct needs no grant "
                    "server. The token was deleted, because the controller would retry it forever; the next run creates a new one."
                )
            if len(reasons) == ROUNDS:
                raise ClusterError(
                    f"{token} did not lead to a link in {ROUNDS} tries: {'; '.join(dict.fromkeys([*reasons, verdict.why]))}. Check for clock skew, and for "
                    "another run that writes it."
                )
            reasons.append(verdict.why)
            self.action.remove(self.site, links.leftovers(self.spec, own), self.seconds)
            granted = state.status(self._grant())
            self._apply(skupper.access_token(self.spec, {key: text(granted.get(key)) for key in ("url", "code", "ca")}), at_hub=False)

    def _verdict(self) -> links.TokenVerdict:
        """What to do about the token, as soon as that is known."""
        found = links.TokenVerdict(links.WAIT)

        def read_state() -> State:
            nonlocal found
            grant = cluster_state.read(self.hub, "AccessGrant", skupper.grant_name(self.spec.cluster), self.spec.hub_namespace)
            found = links.token_verdict(self.spec, self.site_state(), grant, self.now)
            return State(found.do != links.WAIT, found.why)

        self.action.wait(self.seconds, read_state)
        return found

    def _grant(self) -> Object:
        """An unused grant. Its expiry and its code cannot be changed, so an old one is replaced."""
        name = skupper.grant_name(self.spec.cluster)
        final = (state.EXPIRED, state.EXHAUSTED)
        live = self._at_hub("AccessGrant", name)
        if live is not None and state.grant(live, self.now)[0] in final:
            self.action.remove(self.hub, [live], self.seconds, at_hub=True)
        self._apply(skupper.access_grant(self.spec), at_hub=True)

        def read_state() -> State:
            nonlocal live
            live = self._at_hub("AccessGrant", name)
            if live is None:
                return State(False, "it was deleted by someone else")
            what, why = state.grant(live, self.now)
            return State(what == state.USABLE, f"it is {what}: {why}", what in final)

        self.action.wait_for(f"AccessGrant {self.spec.hub_namespace}/{name} on {self.hub.name} is not usable", self.seconds, read_state)
        return live or {}
