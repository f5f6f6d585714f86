# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.skupper_link): link a site to the hub, and keep the link's certificate good."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_action import Object
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_joining import Join
from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_rotation import (
    BEGIN,
    FINISH,
    RotationAction,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.skupper_rules import link_problems
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, library
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import (
    cluster_state,
    link_credentials,
    links,
    rotation_plan,
    site_plan,
    state,
)
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.ownership import is_ours
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.state import State
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import LinkSpec

_SET = skupper.applyset(skupper.LINK)
# Placeholder in check mode for what Skupper will create.
_UNKNOWN = [{"name": "inter-router", "host": "not-known-yet.invalid", "port": "55671", "group": "skupper-router"}]
_UNMADE = dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "created together with the hub")


class ActionModule(RotationAction):
    """See the module's documentation."""

    ROLE = "skupper_link"
    ARGS = {
        "spec": {"type": "dict", "required": True},
        "hub": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "renew": {"type": "bool", "default": False},
        "step": {"type": "str", "choices": [BEGIN, FINISH]},
        "hub_namespace": {"type": "str"},
        "federation": {"type": "str"},
        "rotate": {"type": "str", "default": rotation_plan.DUE, "choices": list(rotation_plan.CHOICES)},
        "sites": {"type": "list", "elements": "str", "default": []},
        "revoke": {"type": "str", "default": ""},
        "reports": {"type": "list", "elements": "dict", "default": []},
        "force": {"type": "bool", "default": False},
        "warn_only": {"type": "bool", "default": False},
        "renew_before": {"type": "str", "default": ""},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read both, decide, get a certificate, apply Secret and Links, wait for the link; or rotate at the hub."""
        self.begin()
        library.require()
        if params["step"]:
            return self.rotate(params)
        given, seconds = params["spec"], params["wait_timeout"]
        require(link_problems(given))
        spec = LinkSpec.parse(given)
        with contextlib.ExitStack() as stack:
            hub = stack.enter_context(self.reach(params["hub"]))
            site = stack.enter_context(self.reach())
            join = Join(self, hub, site, spec, seconds, spec.renew_before)
            done = self._absent(join) if params["state"] == "absent" else self._present(join, renew=params["renew"])
        return {**done, "site": self.inventory_host}

    def _present(self, join: Join, *, renew: bool) -> dict[str, Any]:
        seen, own = join.look_at_hub(), join.look_at_site()
        if self.check and not seen.denied and (seen.site is None or own.site is None):
            return self._foreseen(join)
        plan = self._decided(join, seen, own)
        if not self.check and plan.do not in (links.ADOPT, links.WITHHOLD):
            seen = self._ready(join, seen)
            plan = self._decided(join, seen, own)
        if plan.do == links.WITHHOLD:
            self.warn(f"{self.inventory_host}: {plan.why}")
            return self.finished(plan.why, denied=True, link={})
        if plan.do == links.ADOPT:
            found = self._await([plan.adopted], join, seen)
            return self.finished(plan.why, denied=False, link=self._facts(own, found, {}, adopted=True))
        return self._linked(join, seen, own, plan, renew=renew)

    def _decided(self, join: Join, seen: links.Hub, own: links.Site) -> links.Plan:
        """What to do, after its warnings were shown.

        Raises:
            ClusterError: nothing can be done.
        """
        plan = links.decide(join.spec, seen, own, join.now(), join.renew_before)
        if plan.fault:
            raise ClusterError(f"{plan.fault}.")
        self.warn(*plan.warnings)
        return plan

    def _ready(self, join: Join, seen: links.Hub) -> links.Hub:
        """The hub, when others can link to it: before that a token would be lost, and a Link would lead nowhere."""
        site = seen.site
        if site is None:
            raise ClusterError(f"there is no Skupper Site on {join.hub.name}: run federated.flower.site for it first.")
        name = site["metadata"]["name"]
        if not state.has_link_access(site):
            raise ClusterError(
                f"{state.named(site)} on {join.hub.name} does not accept links of sites. Set skupper_site_link_access for the hub (default, "
                "route, loadbalancer, ...) and run federated.flower.site for it."
            )
        if seen.ca and seen.server and state.site(site).ready:
            return seen
        join.action.wait_site(join.hub, join.at_hub, name, join.seconds)

        def look() -> State:
            nonlocal seen
            seen = join.look_at_hub()
            return State(bool(seen.ca), f"Secret {join.at_hub}/{cluster_state.ca_name(seen.site)} is not there")

        found = self.wait(join.seconds, look)
        if not found.ready:
            raise ClusterError(f"the hub {join.hub.name} has no CA for links after {join.seconds:g} s: {found.why}.")
        return seen

    def _linked(self, join: Join, seen: links.Hub, own: links.Site, plan: links.Plan, *, renew: bool) -> dict[str, Any]:
        spec, names, reasons = join.spec, plan.names, []
        self.require_proxy(join.site, spec)
        if plan.do == links.TOKEN:
            if self.check:
                return self._foreseen(join, known=seen.site)
            reasons = join.redeem()
            own = join.look_at_site()
            names = links.redeemed_names(spec, own)
        made: Mapping[str, str] = own.entries
        by_hub = plan.do == links.CERTIFICATE or (plan.do == links.KEEP and renew)
        if by_hub:
            made = join.certificate(seen, renew=renew)
        data = self._data(made, seen, renewed=by_hub) if made else dict(_UNMADE)
        kind = (own.secret or {}).get("type") or skupper.TLS_SECRET
        endpoints = state.status(seen.site).get("endpoints") or _UNKNOWN
        wanted = [
            skupper.link_secret(spec, data, kind),
            *skupper.links(spec, endpoints, names),
            *skupper.skupper_link_objects(spec, endpoints),
        ]
        self.remove(join.site, links.outlived(spec, own), join.seconds)
        proven = links.redeemed_uids(spec, own)
        self.apply(join.site, wanted, applyset=_SET, applyset_namespace=spec.namespace, proven=proven)
        if not self.check and (plan.do == links.TOKEN or own.token is not None):
            join.forget_grant()
        ours = [item for item in wanted if item["kind"] == "Link"]
        found = self._await(ours, join, seen)
        failed = [reason for reason in reasons if reason != state.NONE_YET]
        again = f"; its token was recreated: {'; '.join(failed)}" if failed else ""
        where = ", ".join(sorted({f"{entry['host']}:{entry['port']}" for entry in endpoints}))
        reported = self._facts(own, found, data, adopted=False)
        self._tell(own, reported)
        return self.finished(f"linked to {where}{again}", denied=False, link=reported)

    @staticmethod
    def _data(made: Mapping[str, str], seen: links.Hub, *, renewed: bool) -> dict[str, str]:
        """Certificate, key and CA bundle."""
        if renewed or not seen.ca:
            trusted = link_credentials.trust(made["ca.crt"], seen.server)
        else:
            trusted = link_credentials.bundle(links.trusted_ca(seen), seen.server.get("ca.crt", ""))
            if link_credentials.same_authorities(trusted, made["ca.crt"]):
                trusted = made["ca.crt"]
        return {"tls.crt": made["tls.crt"], "tls.key": made["tls.key"], "ca.crt": trusted}

    def _tell(self, own: links.Site, reported: Mapping[str, Any]) -> None:
        """Record a new certificate in the audit trail."""
        now = reported.get("certificate") or {}
        before = link_credentials.describe(own.entries.get("tls.crt", ""))
        if now and not self.check and now.get("serial") != before.get("serial"):
            self.note(
                self.inventory_host,
                certificates=[
                    {
                        "change": "issued",
                        "name": "link to the hub",
                        "serial": now["serial"],
                        "not_after": now["not_after"],
                    }
                ],
            )

    def _await(self, wanted: list[Any], join: Join, seen: links.Hub) -> list[Object]:
        """Wait until one of these Links is up and leads to the hub; returns them as they are."""
        names = {item["metadata"]["name"] for item in wanted if item}
        found: list[Object] = []

        def look() -> State:
            nonlocal found
            found = [link for link in cluster_state.listed(join.site, "Link", join.at_site) if link["metadata"]["name"] in names]
            own_site = site_plan.active(cluster_state.listed(join.site, "Site", join.at_site))
            why = links.why_not(join.spec, seen, found, own_site)
            return State(not why, why)

        outcome = self.wait(join.seconds, look)
        if not outcome.ready and not self.check:
            raise ClusterError(
                f"{join.site.name} is not linked to {join.hub.name} after {join.seconds:g} s: {outcome.why}. For a new Link, Skupper needs up to "
                "half a minute."
            )
        return found

    @staticmethod
    def _facts(own: links.Site, found: list[Object], data: Mapping[str, str], *, adopted: bool) -> dict[str, Any]:
        first = found[0] if found else {}
        pem = data.get("tls.crt", "")
        return {
            "site_uid": state.uid(own.site),
            "names": sorted(item["metadata"]["name"] for item in found),
            "uids": sorted(state.uid(item) for item in found),
            "adopted": adopted,
            "ready": any(state.is_true(item, "Ready") for item in found),
            "remote": {
                "name": state.status(first).get("remoteSiteName", ""),
                "uid": state.status(first).get("remoteSiteId", ""),
            },
            "certificate": link_credentials.describe(pem),
            "trusts": [
                link_credentials.describe(part)["serial"] for part in certificates.split(data.get("ca.crt", ""))
            ],
        }

    def _foreseen(self, join: Join, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Check mode, before there is a hub, a Site or a token: what would be created, as far as it is known."""
        endpoints = state.status(known).get("endpoints") or _UNKNOWN
        wanted = [skupper.link_secret(join.spec, _UNMADE), *skupper.links(join.spec, endpoints, {})]
        wanted += skupper.skupper_link_objects(join.spec, endpoints)
        made = self.make_namespace(join.site, join.spec, 0)
        self.apply(join.site, [*made, *wanted], applyset=_SET, applyset_namespace=join.at_site)
        self.done["objects"] = [one for one in self.done["objects"] if one["kind"] != "Namespace"]
        return self.finished("would be linked to the hub", denied=False, link={})

    def _absent(self, join: Join) -> dict[str, Any]:
        """Take the link away on both sides. Its certificate stays valid until the hub's CA changes."""
        spec = join.spec
        if join.site.get("v1", "Namespace", join.at_site) is not None:
            self.refuse_other_end(join.site, join.at_site, hub=False, removing=_SET)
            own = join.look_at_site()
            self.apply(
                join.site,
                links.leftovers(spec, own),
                state="absent",
                applyset=_SET,
                applyset_namespace=join.at_site,
                named=[("", "Secret")],  # where the site makes its keys itself, this one is all that may be read
                wait=True,
                wait_timeout=join.seconds,
            )
        self.withdraw(join.hub, spec, join.seconds)
        gone = sum(one["change"] == "deleted" for one in (*self.done["objects"], *self.done["hub_objects"]))
        return self.finished(f"{gone} objects {'to delete' if self.check else 'deleted'}", denied=False, link={})

    def withdraw(self, hub: Cluster, spec: LinkSpec, seconds: float) -> None:
        """Remove the hub's objects for the link of a site."""
        namespace, going = spec.hub_namespace, []
        for kind, name in (
            ("Certificate", skupper.certificate_name(spec.cluster)),
            ("AccessGrant", skupper.grant_name(spec.cluster)),
        ):
            live = self.read(hub, kind, name, namespace)
            if live is not None and is_ours(live):
                going.append(live)
        self.remove(hub, going, seconds, at_hub=True)
