# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check sites before anything is changed: their variables, the numbers of the fleet, their clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache

from ..base.errors import ClusterError
from ..base.problems import messages, require
from ..base.values import boolean, integer
from ..checks import site_agreement
from ..checks.site_rules import site_problems
from ..checks.variables import OWN, with_origins
from ..fleet import flower_versions, partitions
from ..fleet.outcome import Outcomes
from ..manifests import supernode
from ..ocm import checks
from ..sites.registry import DELIVERIES
from ..sites.site import Facts, Site
from ..state.ledger import Ledger
from .fleet_action import FleetAction
from .inventory_checks import inventory_faults


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
                faults = inventory_faults(self, name, self.variables_of(name), self.value_of(name, OWN, []), is_site=True)
                faults = faults or messages(site_problems(site.given)) or self._hub_faults(site, checked_hub)
            except ClusterError as error:
                faults = [error.message]
            if faults:
                outcomes.fail(name, with_origins("\n".join(faults), self._evaluated(name)[0]))
        with ExitStack() as connected:

            @cache
            def ledger() -> Ledger:
                first = sites[outcomes.good()[0]]
                return Ledger(connected.enter_context(self.connect(first.hub)), first.hub_namespace, first.federation)

            self._check_numbers(sites, outcomes, ledger)
            hub = {**self._with_identity(checked_hub, sites, outcomes, ledger), "ocm": checked_ocm}
            self._refuse_moved(sites, outcomes, ledger)
            self._refuse_newer(checked_hub, sites, outcomes, ledger)
            self._refuse_labels(sites, outcomes, ledger)
        ways = self.reach(sites)

        def check(name: str) -> None:
            ways[name].settle()
            found = ways[name].preflight(hub)
            outcome = outcomes[name]
            outcome.msg = found.msg
            refused = require(site_agreement.trust(sites[name].spec, (checked_hub.get("certificate") or {}).get("pem", "")))
            outcome.warnings += [f"{name}: {word}" for word in [*found.warnings, *refused]]
            flower = flower_versions.wanted(sites[name].spec.version, supernode.objects(sites[name].spec.complete()))
            outcome.facts = {"flower": flower, "version": found.version, "skew": found.skew, "rehearsed": found.rehearsed}

        outcomes.each(check)

    def _hub_faults(self, site: Site, hub: Facts) -> list[str]:
        """A site whose variables do not fit the hub, which may not be in a play of this run, as with C(--limit)."""
        there = hub.get("namespace") or self.of_hub("namespace", site.hub)
        if site.hub_namespace == there:
            return [f"{lost}." for lost in [(hub.get("lost_sites") or {}).get(site.name)] if lost]
        return [
            f"{site.name}: the hub is in namespace {there}, and for this host in {site.hub_namespace} (supernode_hub_namespace). Remove that variable. "
            "Set supernode_namespace where the site needs a namespace of its own."
        ]

    def _check_numbers(self, sites: Mapping[str, Site], outcomes: Outcomes, ledger: Callable[[], Ledger]) -> None:
        """Whether the number of the fleet's partitions is known where a site asks for it, and large enough if a variable fixes it."""
        pools = {name: sites[name].spec.pools for name in outcomes.good()}
        fixed = integer(self.variables_of(next(iter(pools)))["supernode_partitions"]) if pools else 0
        found = partitions.too_few(pools, fixed) if fixed else partitions.uncounted(pools)
        if found and not fixed:
            # With a limit, only the hub knows whether the fleet has partitions.
            if any(pool.uses_partition and pool.replicas for site in sites.values() for pool in site.spec.pools):
                return
            try:
                if ledger().read_book()["partitions"]:
                    return
            except ClusterError as error:
                found = dict.fromkeys(found, error.message)
        for name, fault in found.items():
            outcomes.fail(name, fault)

    def _refuse_moved(self, sites: Mapping[str, Site], outcomes: Outcomes, ledger: Callable[[], Ledger]) -> None:
        """Sites that are deployed in another namespace so far, by the ledger. A hub that does not say it now is asked again before they are deployed."""
        chosen = partitions.places(sites, outcomes.good())
        if not chosen:
            return
        try:
            found, _unreadable = ledger().read_sites()
        except ClusterError:
            return
        for name, fault in partitions.left_behind(chosen, found).items():
            outcomes.fail(name, fault)

    def _refuse_labels(self, sites: Mapping[str, Site], outcomes: Outcomes, ledger: Callable[[], Ledger]) -> None:
        """New sites, and new regions of sites, that only labels of a ManagedCluster say, which its own agent may write."""
        rests = {name: self.value_of(name, "flower_ocm_by_labels", []) for name in outcomes.good()}
        chosen = {name: listed for name, listed in rests.items() if listed and not boolean(self.value_of(name, "supernode_ocm_trust_labels", False))}
        if not chosen:
            return
        try:
            found, unreadable = ledger().read_sites()
        except ClusterError as error:
            found, unreadable = {}, dict.fromkeys(chosen, error.message)
        for name, listed in chosen.items():
            faults = [unreadable[name]] if name in unreadable else checks.by_labels(listed, sites[name].spec.region, found.get(name))
            if faults:
                outcomes.fail(name, "; ".join(faults))

    def _refuse_newer(self, hub: Facts, sites: Mapping[str, Site], outcomes: Outcomes, ledger: Callable[[], Ledger]) -> None:
        """Sites with a newer release than the hub gets in this run or, where it was not checked, as with C(--limit), than it has."""
        chosen = outcomes.good()
        if not chosen:
            return
        first = sites[chosen[0]]
        release = str((hub.get("flower") or {}).get("version") or "")
        if not release:
            try:
                release = partitions.publication(ledger().cluster, first.hub, first.hub_namespace, check=True).get("version", "")
            except ClusterError:  # the error of their deployment says it
                return
        for name in chosen:
            if fault := flower_versions.newer_fault(sites[name].spec.version, first.hub, release):
                outcomes.fail(name, fault)

    def _with_identity(self, hub: Facts, sites: Mapping[str, Site], outcomes: Outcomes, ledger: Callable[[], Ledger]) -> Facts:
        """What is known of the hub. Its identity, which sites record, is read where the hub was not checked, as with C(--limit)."""
        chosen = [name for name in outcomes.good() if DELIVERIES[sites[name].access.delivery].own_access]
        if "identity" in hub or not chosen:
            return hub
        try:
            return {**hub, "identity": ledger().identity()}
        except ClusterError as error:
            for name in chosen:
                outcomes.fail(name, error.message)
            return hub
