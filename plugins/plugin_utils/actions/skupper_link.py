# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The link of a site to the hub: create it, renew its certificate before it expires, remove it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..apply.readiness import State
from ..base.errors import ClusterError
from ..base.problems import require
from ..checks.skupper_rules import link_problems
from ..manifests import skupper
from ..pki import certificates, library
from ..skupper import cluster_state, link_credentials, links, site_plan, state
from ..spec.network_spec import LinkSpec
from .skupper_action import Object, SkupperAction
from .skupper_joining import Join
from .skupper_rotation import BEGIN, HubRotation

_SET = skupper.applyset(skupper.LINK)
# Placeholders in check mode for what Skupper will create.
_UNKNOWN = [{"name": "inter-router", "host": "not-known-yet.invalid", "port": "55671", "group": "skupper-router"}]
_NO_SECRET = dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "created together with the hub")


class SkupperLink(SkupperAction):
    """The part of M(federated.flower.skupper) that manages the link, and rotates the certificates of the network."""

    def manage_link(self, params: dict[str, Any]) -> dict[str, Any]:
        """Read both, decide, get a certificate, apply Secret and Links, wait for the link; or rotate at the hub."""
        library.require()
        if params["step"]:
            with self.reach(params["hub"]) as cluster:
                rotation = HubRotation(self, cluster, params)
                return rotation.begin() if params["step"] == BEGIN else rotation.finish()
        require(link_problems(params["spec"]))
        with contextlib.ExitStack() as stack:
            hub = stack.enter_context(self.reach(params["hub"]))
            site = stack.enter_context(self.reach())
            join = Join(self, hub, site, LinkSpec.parse(params["spec"]), params["wait_timeout"])
            done = self._unlink(join) if params["state"] == "absent" else self._link(join, renew=params["renew"])
        return {**done, "site": self.inventory_host}

    def _link(self, join: Join, *, renew: bool) -> dict[str, Any]:
        hub, own = join.hub_state(), join.site_state()
        if self.check and not hub.denied and (hub.site is None or own.site is None):
            return self._would_be_linked(join)
        plan = self._plan(join, hub, own)
        if not self.check and plan.do not in (links.ADOPT, links.WITHHOLD):
            hub = self._ready_hub(join, hub)
            plan = self._plan(join, hub, own)
        if plan.do == links.WITHHOLD:
            self.warn(f"{self.inventory_host}: {plan.why}")
            return self.finished(plan.why, denied=True, link={})
        if plan.do == links.ADOPT and plan.adopted is not None:
            found = self._wait_link([plan.adopted], join, hub)
            return self.finished(plan.why, denied=False, link=self._facts(own, found, {}, adopted=True))
        spec, names, reasons = join.spec, plan.names, []
        self.require_proxy(join.site, spec)
        if plan.do == links.TOKEN:
            if self.check:
                return self._would_be_linked(join, hub.site)
            reasons = [reason for reason in join.redeem() if reason != links.NO_TOKEN]
            own = join.site_state()
            names = links.link_names(spec, own)
        by_hub = plan.do == links.CERTIFICATE or (plan.do == links.KEEP and renew)
        issued = join.certificate(hub, renew=renew) if by_hub else own.entries
        data = {**{key: issued[key] for key in ("tls.crt", "tls.key")}, "ca.crt": self._trusted(issued, hub, renewed=by_hub)} if issued else _NO_SECRET
        endpoints = state.status(hub.site).get("endpoints") or _UNKNOWN
        own_links = skupper.links(spec, endpoints, names)
        secret = skupper.link_secret(spec, data, (own.secret or {}).get("type") or skupper.TLS_SECRET)
        self.remove(join.site, links.outlived(spec, own), join.seconds)
        wanted = [secret, *own_links, *skupper.skupper_link_objects(spec, endpoints)]
        self.apply(join.site, wanted, applyset=_SET, applyset_namespace=spec.namespace, proven=links.redeemed_uids(spec, own))
        if not self.check and (plan.do == links.TOKEN or own.token is not None):  # the grant has done its work
            grants = [one for one in cluster_state.link_objects(join.hub, spec.hub_namespace, spec.cluster) if one["kind"] == "AccessGrant"]
            self.remove(join.hub, grants, join.seconds, at_hub=True)
        found = self._wait_link(own_links, join, hub)
        facts = self._facts(own, found, data, adopted=False)
        now, before = facts["certificate"], link_credentials.describe(own.entries.get("tls.crt", ""))
        if now and not self.check and now["serial"] != before.get("serial"):
            issue = {"change": "issued", "name": "link to the hub", "serial": now["serial"], "not_after": now["not_after"]}
            self.note(self.inventory_host, certificates=[issue])
        where = ", ".join(sorted({f"{entry['host']}:{entry['port']}" for entry in endpoints}))
        again = f"; its token was recreated: {'; '.join(reasons)}" if reasons else ""
        return self.finished(f"linked to {where}{again}", denied=False, link=facts)

    def _plan(self, join: Join, hub: links.Hub, own: links.Site) -> links.Plan:
        """What to do, after its warnings were shown.

        Raises:
            ClusterError: nothing can be done.
        """
        plan = links.decide(join.spec, hub, own, join.now, join.spec.renew_before)
        self.refuse(plan.fault)
        self.warn(*plan.warnings)
        return plan

    def _ready_hub(self, join: Join, hub: links.Hub) -> links.Hub:
        """The hub, when others can link to it: before that a token would be lost, and a Link would lead nowhere."""
        site = hub.site or {}
        if not state.has_link_access(site):
            raise ClusterError(
                f"{state.named(site)} on {join.hub.name} does not accept links of sites. Set skupper_site_link_access for the hub (default, "
                "route, loadbalancer, ...) and run federated.flower.site for it."
            )
        if hub.ca and hub.server and state.site(site).ready:
            return hub
        self.wait_site(join.hub, join.spec.hub_namespace, site["metadata"]["name"], join.seconds)

        def read_state() -> State:
            nonlocal hub
            hub = join.hub_state()
            return State(bool(hub.ca), f"Secret {join.spec.hub_namespace}/{cluster_state.ca_name(hub.site)} is not there")

        self.wait_for(f"the hub {join.hub.name} has no CA for links", join.seconds, read_state)
        return hub

    @staticmethod
    def _trusted(issued: Mapping[str, str], hub: links.Hub, *, renewed: bool) -> str:
        """The CA bundle beside a certificate."""
        if renewed or not hub.ca:
            return link_credentials.trust(issued["ca.crt"], hub.server)
        trusted = link_credentials.bundle(links.trusted_ca(hub), hub.server.get("ca.crt", ""))
        return issued["ca.crt"] if link_credentials.same_authorities(trusted, issued["ca.crt"]) else trusted

    def _wait_link(self, wanted: Sequence[Mapping[str, Any]], join: Join, hub: links.Hub) -> list[Object]:
        """Wait until one of these Links is up and leads to the hub; returns them as they are."""
        names = {item["metadata"]["name"] for item in wanted}
        found: list[Object] = []

        def read_state() -> State:
            nonlocal found
            found = [link for link in cluster_state.listed(join.site, "Link", join.spec.namespace) if link["metadata"]["name"] in names]
            why = links.why_not(join.spec, hub, found, site_plan.active(cluster_state.listed(join.site, "Site", join.spec.namespace)))
            return State(not why, why)

        self.wait_for(f"{join.site.name} is not linked to {join.hub.name}", join.seconds, read_state, "For a new Link, Skupper needs up to half a minute.")
        return found

    @staticmethod
    def _facts(own: links.Site, found: list[Object], data: Mapping[str, str], *, adopted: bool) -> dict[str, Any]:
        remote = state.status(found[0] if found else None)
        return {
            "site_uid": state.uid(own.site),
            "names": sorted(item["metadata"]["name"] for item in found),
            "uids": sorted(state.uid(item) for item in found),
            "adopted": adopted,
            "ready": any(state.is_true(item, "Ready") for item in found),
            "remote": {"name": remote.get("remoteSiteName", ""), "uid": remote.get("remoteSiteId", "")},
            "certificate": link_credentials.describe(data.get("tls.crt", "")),
            "trusts": [link_credentials.describe(part)["serial"] for part in certificates.split(data.get("ca.crt", ""))],
        }

    def _would_be_linked(self, join: Join, hub_site: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Check mode, before there is a hub, a Site or a token: what would be created, as far as it is known."""
        spec, endpoints = join.spec, state.status(hub_site).get("endpoints") or _UNKNOWN
        wanted = [*self.make_namespace(join.site, spec, 0), skupper.link_secret(spec, _NO_SECRET), *skupper.links(spec, endpoints, {})]
        self.apply(join.site, wanted + skupper.skupper_link_objects(spec, endpoints), applyset=_SET, applyset_namespace=spec.namespace)
        self.done["objects"] = [one for one in self.done["objects"] if one["kind"] != "Namespace"]
        return self.finished("would be linked to the hub", denied=False, link={})

    def _unlink(self, join: Join) -> dict[str, Any]:
        """Take the link away on both sides. Its certificate stays valid until the hub's CA changes."""
        spec = join.spec
        if join.site.get("v1", "Namespace", spec.namespace) is not None:
            self.refuse_other_end(join.site, spec.namespace, hub=False, removing=_SET)
            self.apply(
                join.site,
                links.leftovers(spec, join.site_state()),
                state="absent",
                applyset=_SET,
                applyset_namespace=spec.namespace,
                named=[("", "Secret")],  # where the site makes its keys itself, this one is all that may be read
                wait=True,
                wait_timeout=join.seconds,
            )
        self.remove(join.hub, cluster_state.link_objects(join.hub, spec.hub_namespace, spec.cluster), join.seconds, at_hub=True)
        return self.finished(self.deleted(), denied=False, link={})
