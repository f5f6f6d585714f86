# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check sites before anything is changed: their variables, the numbers of the fleet, their clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from typing import Any

from ..base.errors import ClusterError
from ..base.problems import messages, require
from ..base.values import boolean, integer
from ..checks import site_agreement
from ..checks.site_rules import site_problems
from ..checks.variables import OWN, with_origins
from ..fleet import flower_versions, other_superlink, partitions
from ..fleet.outcome import Outcomes
from ..manifests import supernode
from ..ocm import checks
from ..sites.registry import DELIVERIES
from ..sites.site import OTHER_SUPERLINK, Facts, Site
from ..state.ledger import Ledger
from .fleet_action import FleetAction
from .inventory_checks import inventory_faults

Sites = Mapping[str, Site]


class SiteCheck(FleetAction):
    """An action that checks sites before anything is changed."""

    def check_sites(self, checked_hub: Facts, checked_ocm: Facts, sites: dict[str, Site], outcomes: Outcomes) -> None:
        """Check the variables of each site; if they are valid, check its cluster.

        Args:
            checked_hub: what the check of the hub returned; empty if it was not checked. The identity of the hub is then read from its ledger.
            checked_ocm: what the check of the hub of Open Cluster Management returned; empty if it was not checked.
            sites: by name.
            outcomes: C(facts) of each site get C(flower), what its variables deploy, and C(version), C(skew) and C(rehearsed) of its cluster.
        """
        for name, site in sites.items():
            try:
                has_hub = not site.has_other_superlink
                faults = inventory_faults(self, name, self.variables_of(name), self.value_of(name, OWN, []), is_site=True, has_hub=has_hub)
                faults = faults or messages(site_problems(site.given)) or (self._hub_faults(site, checked_hub) if has_hub else [])
            except ClusterError as error:
                faults = [error.message]
            if faults:
                outcomes.fail(name, with_origins("\n".join(faults), self._evaluated(name)[0]))
        with ExitStack() as connected:

            @cache
            def ledger() -> Ledger:
                first = next(sites[name] for name in outcomes.good() if not sites[name].has_other_superlink)
                return Ledger(connected.enter_context(self.connect(first.hub)), first.hub_namespace, first.federation)

            hub: dict[str, Any] = {**checked_hub, "ocm": checked_ocm}
            for check in (self._numbers_faults, self._identity_faults, self._moved_faults, self._version_faults, self._label_faults):
                if chosen := {name: sites[name] for name in outcomes.good() if not sites[name].has_other_superlink}:
                    for name, fault in check(chosen, sites, hub, ledger).items():
                        outcomes.fail(name, fault)
        backends = self.reach(sites)

        def preflight(name: str) -> None:
            backends[name].detect_platform()
            known = hub
            if sites[name].has_other_superlink:
                other_superlink.complete(sites[name], backends[name].cluster)
                known = {"identity": OTHER_SUPERLINK}
            found = backends[name].preflight(known)
            outcome = outcomes[name]
            outcome.msg = found.msg
            refused = require(site_agreement.trust(sites[name].spec, (known.get("certificate") or {}).get("pem", "")))
            outcome.warnings += [f"{name}: {word}" for word in [*found.warnings, *refused]]
            flower = flower_versions.wanted(sites[name].spec.version, found.objects or supernode.objects(sites[name].spec.complete()))
            outcome.facts = {"flower": flower, "version": found.version, "skew": found.skew, "rehearsed": found.rehearsed}

        outcomes.each(preflight)

    def _hub_faults(self, site: Site, hub: Facts) -> list[str]:
        """A site whose variables do not fit the hub, which may not be in a play of this run, as with C(--limit)."""
        there = hub.get("namespace") or self.of_hub("namespace", site.hub)
        if site.hub_namespace == there:
            return [f"{lost}." for lost in [(hub.get("lost_sites") or {}).get(site.name)] if lost]
        return [
            f"{site.name}: the hub is in namespace {there}, and for this host in {site.hub_namespace} (supernode_hub_namespace). Remove that variable. "
            "Set supernode_namespace if the site needs its own namespace."
        ]

    # Each of these returns the faults of some sites, by name. They are made in order, each with the sites without faults so far (C(chosen)).

    def _numbers_faults(self, chosen: Sites, sites: Sites, hub: Facts, ledger: Callable[[], Ledger]) -> Mapping[str, str]:
        """Whether the number of the fleet's partitions is known where a site asks for it, and large enough if a variable fixes it."""
        pools = {name: site.spec.pools for name, site in chosen.items()}
        if fixed := integer(self.variables_of(next(iter(pools)))["supernode_partitions"]):
            return partitions.too_few(pools, fixed)
        found = partitions.uncounted(pools)
        # With a limit, only the hub knows whether the fleet has partitions.
        if not found or any(pool.uses_partition and pool.replicas for site in sites.values() for pool in site.spec.pools):
            return {}
        try:
            return {} if ledger().read_book()["partitions"] else found
        except ClusterError as error:
            return dict.fromkeys(found, error.message)

    def _identity_faults(self, chosen: Sites, sites: Sites, hub: dict[str, Any], ledger: Callable[[], Ledger]) -> Mapping[str, str]:
        """Find the identity of the hub, which sites record, where the hub was not checked, as with C(--limit)."""
        own = [name for name, site in chosen.items() if DELIVERIES[site.access.delivery].own_access]
        try:
            if own and "identity" not in hub:
                hub["identity"] = ledger().identity()
        except ClusterError as error:
            return dict.fromkeys(own, error.message)
        return {}

    def _moved_faults(self, chosen: Sites, sites: Sites, hub: Facts, ledger: Callable[[], Ledger]) -> Mapping[str, str]:
        """Sites that are deployed in another namespace so far, by the ledger. A hub that does not say it now is asked again before they are deployed."""
        places = partitions.places(chosen, [*chosen])
        try:
            return partitions.left_behind(places, ledger().read_sites()[0]) if places else {}
        except ClusterError:
            return {}

    def _version_faults(self, chosen: Sites, sites: Sites, hub: Facts, ledger: Callable[[], Ledger]) -> Mapping[str, str]:
        """Sites with a newer release than the hub gets in this run or, where it was not checked, as with C(--limit), than it has."""
        first = next(iter(chosen.values()))
        release = str((hub.get("flower") or {}).get("version") or "")
        try:
            release = release or partitions.publication(ledger().cluster, first.hub, first.hub_namespace, check=True).get("version", "")
        except ClusterError:  # the error of their deployment says it
            return {}
        found = {name: flower_versions.newer_fault(site.spec.version, first.hub, release) for name, site in chosen.items()}
        return {name: fault for name, fault in found.items() if fault}

    def _label_faults(self, chosen: Sites, sites: Sites, hub: Facts, ledger: Callable[[], Ledger]) -> Mapping[str, str]:
        """New sites, and new regions of sites, that only labels of a ManagedCluster say, which its own agent may write."""
        listed = {name: self.value_of(name, "flower_ocm_by_labels", []) for name in chosen}
        listed = {name: one for name, one in listed.items() if one and not boolean(self.value_of(name, "supernode_ocm_trust_labels", False))}
        try:
            records, unreadable = ledger().read_sites() if listed else ({}, {})
        except ClusterError as error:
            return dict.fromkeys(listed, error.message)
        found = {
            name: [unreadable[name]] if name in unreadable else checks.by_labels(labels, chosen[name].spec.region, records.get(name))
            for name, labels in listed.items()
        }
        return {name: "; ".join(faults) for name, faults in found.items() if faults}
