# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base of the actions that deal with the gateway's certificate: the hub's address, names, source and cross-checks."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..base.addresses import is_address, split_address
from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.object_names import BUILTIN, FEDERATION_CONFIG, FLEET_PORT, SUPERLINK, SUPERLINK_SERVICE
from ..base.problems import require
from ..base.values import boolean, text
from ..checks import hub_services
from ..kube.client import Cluster
from ..manifests import exposure, skupper
from ..manifests.exposure import exposure_of
from ..rotation import authority, certificate_checks, certificate_sources
from ..rotation.certificate_plan import LiveObjects, Plan, Wanted
from ..sites.registry import SKUPPER, VARIABLES, sites_with
from ..spec.hub_spec import HubSpec
from ..state import access_records
from ..state.ledger import Ledger
from .cluster_action import ClusterAction

_CA_LIFETIME = datetime.timedelta(days=3650)


class CertificateAction(ClusterAction):
    """An action on the hub. C(params) of its methods: C(spec), and C(given_spec.hub_settings)."""

    @staticmethod
    def address(hub: Cluster, spec: HubSpec, *, likely: bool = False) -> str:
        """The C(host:port) to which sites connect; empty while it is not known. C(likely): C(exposure.likely_address)."""
        if spec.superlink_address:
            return exposure.address(spec)
        own = [("v1", "Service", SUPERLINK_SERVICE, spec.namespace), ("v1", "ConfigMap", FEDERATION_CONFIG, spec.namespace)]
        live = [hub.get(*one) for one in (*own, *exposure_of(spec).reads(spec))]
        if exposure_of(spec).needs_nodes(spec):
            live += [{"kind": "Node", **node} for node in hub.list("v1", "Node")]
        known = [item for item in live if item]
        return exposure.likely_address(spec, known) if likely else exposure.address(spec, known)

    def wanted(self, hub: Cluster, params: Mapping[str, Any], address: str, warnings: list[str]) -> Wanted:
        """What the hub's credentials must be good for.

        Which name a site verifies is not known while its variables cannot be evaluated; its own checks report that. Until then the
        certificate keeps all names that it has, so that its SuperNodes stay connected; a sentence on it is added to C(warnings).

        Raises:
            ClusterError: sites would verify a name by which the gateway is not found, due to the hub's variables. A fault in the variables of
                one site is a warning here, and a fault of that site in its own checks (C(Wanted.lost_sites)).
        """
        spec: HubSpec = params["spec"]
        sites: list[certificate_checks.SiteNames] = []
        kept: list[str] = []
        for site in params["sites"]:
            variables = self._variables(site)
            try:
                sites.append(self._names_of(site, variables))
            except ClusterError as error:
                kept = kept or self._served_names(hub, spec)
                warnings.append(
                    f"{named_hosts(site, error.message)}. Until it is corrected, the gateway's certificate keeps its current "
                    "names, because this site may verify any of them"
                )
        needed = certificate_checks.verified_names(spec, address, sites)
        routing = certificate_checks.routing(spec, address, sites)
        if routing.faults:
            raise ClusterError("; ".join(routing.faults) + ".")
        warnings += routing.warnings
        return Wanted(
            federation=spec.federation,
            namespace=spec.namespace,
            ca_namespace=params["ca_namespace"],
            names=replace(spec, superlink_address=address).names_of_certificate([*needed, *kept, *self._former_names(hub, spec)]),
            lifetime=datetime.timedelta(days=spec.certificate_days),
            ca_lifetime=_CA_LIFETIME,
            needed=needed,
            renew_before=spec.renew_before,
            name_variable=certificate_checks.name_variable(spec),
            lost_sites=routing.of_sites,
        )

    @staticmethod
    def plan(params: Mapping[str, Any], wanted: Wanted, address: str, live: LiveObjects) -> Plan:
        """What becomes of the gateway's certificate."""
        return certificate_sources.plan(replace(params["spec"], superlink_address=address, gateway_names=wanted.names), params, wanted, live)

    @staticmethod
    def refuse_faults(hub: Cluster, plan: Plan, wanted: Wanted) -> None:
        """Fail when the plan cannot be carried out, or sites would reject its certificate.

        Raises:
            ClusterError: with all that is wrong.
        """
        now = datetime.datetime.now(datetime.timezone.utc)
        clocks = {"the controller": now}
        if hub.skew is not None:
            clocks["the hub"] = now + datetime.timedelta(seconds=hub.skew)
        found = plan.faults or certificate_checks.faults(plan, wanted.needed, clocks, wanted.name_variable)
        if found:
            raise ClusterError("; ".join(found) + ".")

    @staticmethod
    def check_denials(hub: Cluster, spec: HubSpec, sites: Collection[str]) -> list[str]:
        """Fail when the gateway could not refuse a site (of those of the inventory) that is denied; returns warnings.

        Nothing is read where the gateway requires certificates.

        Raises:
            ClusterError: the sites, and the remedy.
        """
        if spec.asks == "required":
            return []
        ledger = Ledger(hub, spec.namespace, spec.federation)
        records, unreadable = ledger.read_sites()
        denials = access_records.denied(ledger.read_book(), records)
        return require(hub_services.denials(spec, hub_services.refused_sites(denials, {*records, *unreadable}, sites)))

    def is_in_network(self, site: str) -> bool:
        """Whether a site reaches the hub through Skupper.

        Raises:
            ClusterError: its variables do not say so, since they cannot be evaluated. What the sites of the network need would be removed
                from the hub if it were left out.
        """
        variables = self._variables(site)
        try:
            given = {name: self._variable_of(variables, name) for name in VARIABLES}
        except ClusterError as error:
            raise ClusterError(
                f"{named_hosts(site, error.message)}. What the hub needs depends on how this site is reached, so nothing is deployed until "
                "this variable of the host is corrected in the inventory."
            ) from error
        return bool(sites_with({site: given}, [site], connectivity=SKUPPER))

    @staticmethod
    def _former_names(hub: Cluster, spec: HubSpec) -> list[str]:
        """Names by which sites know the gateway until they learn another address; none where those who sign may not know them.

        A run reaches them one after the other, and those with a bundle much later. Until then they connect to the old address if it still
        leads here. The names stay in the certificate until it is renewed.
        """
        if spec.certificates_source != BUILTIN:
            return []
        published = (hub.get("v1", "ConfigMap", FEDERATION_CONFIG, spec.namespace) or {}).get("data") or {}
        address = text(published.get("address"))
        return [name for name in (split_address(address)[0] if is_address(address) else "", text(published.get("server_name"))) if name]

    @staticmethod
    def _served_names(hub: Cluster, spec: HubSpec) -> list[str]:
        """Names in the certificate that the gateway serves now; none where there is none."""
        name = authority.mounted_secret(hub.get("apps/v1", "StatefulSet", SUPERLINK, spec.namespace))
        secret = hub.get("v1", "Secret", name, spec.namespace) if name else None
        facts, _trust = authority.served_facts(name, secret, "", datetime.datetime.now(datetime.timezone.utc))
        return list(facts.get("names", []))

    def _variables(self, site: str) -> Mapping[str, Any]:
        try:
            return self.task_vars["hostvars"][site]
        except KeyError:
            raise ClusterError(f"the inventory has no host '{site}'.") from None

    def _names_of(self, site: str, variables: Mapping[str, Any]) -> certificate_checks.SiteNames:
        def value(*variable_names: str) -> Any:
            for name in variable_names:
                found = self._variable_of(variables, name)
                if found not in (None, ""):
                    return self._templated(name, found)
            return None

        sidecar = value("supernode_sidecar")
        dialled = value("supernode_superlink_address")
        if not dialled and value("flower_connectivity") == "skupper":
            # Defaults of the roles skupper_listener and supernode, which this host does not see.
            dialled = skupper.address(value("skupper_listener_host") or skupper.FLEET, value("skupper_listener_port") or FLEET_PORT)
        return certificate_checks.SiteNames(
            site,
            text(dialled or value("superlink_address")),
            text(value("supernode_server_name", "flower_server_name")),
            sidecar is None or boolean(sidecar),
        )
