# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deploy the SuperNodes of sites, or their ClientApps alone."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace

from ..base.errors import ClusterError
from ..base.problems import messages
from ..base.values import boolean, integer
from ..checks.site_rules import site_problems
from ..fleet import other_superlink
from ..fleet.clientapps import deploy_apps
from ..fleet.deploy import KEYS, Options, Rollout
from ..fleet.outcome import Outcomes
from ..fleet.register import Registry
from ..sites.site import Site
from ..state import site_indexes
from ..state.ledger import DEPLOYED, Ledger
from .fleet_action import FleetAction

# The role superlink registers its result.
_HUB = "__superlink_deployed"


class SiteDeployment(FleetAction):
    """An action that deploys sites."""

    def deploy_sites(
        self, sites: dict[str, Site], outcomes: Outcomes, *, renew: Sequence[str] = (), wait: int = 3600, force: bool = False, apps_alone: bool = False
    ) -> None:
        """Deploy those of some sites that have not failed; see C(deploy.Options).

        C(apps_alone): deploy nothing but the ClientApps of sites where they run in their own pods.
        """
        for name, site in sites.items():
            if faults := messages(site_problems(site.given)):
                outcomes.fail(name, "\n".join(faults))
        if not outcomes.good():
            return
        if apps_alone:
            self._read_app_options(sites, outcomes)
            sites = self._remove_apps(sites, outcomes)
        others = {name: site for name, site in sites.items() if site.has_other_superlink and not outcomes[name].failed}
        if others:
            other_superlink.deploy(self, others, self.reach(others), outcomes, renew=KEYS in renew, apps_alone=apps_alone)
        sites = {name: site for name, site in sites.items() if name not in others}
        if sites:
            self._deploy_with_hub(sites, outcomes.of(sites), renew, wait, force=force, apps_alone=apps_alone)

    def _deploy_with_hub(
        self, sites: dict[str, Site], outcomes: Outcomes, renew: Sequence[str], wait: int, *, force: bool, apps_alone: bool
    ) -> None:
        if not outcomes.good():
            return
        first = sites[outcomes.good()[0]]
        variables = self.variables_of(first.name)
        partitions, repartition = int(variables["supernode_partitions"] or 0) or None, boolean(variables["supernode_repartition"])
        options = Options(partitions, repartition, renew, wait, force, self._foreseen(first.hub))
        try:
            with self.connect(first.hub) as hub:
                registry = Registry(self, hub, first.hub, first.hub_namespace, first.federation, first.seconds)
                rollout = Rollout(self, registry, first.hub, sites, self.reach(sites), outcomes, options)
                if apps_alone:
                    deploy_apps(rollout)
                else:
                    rollout.deploy()
                    self._note_deployed(registry.ledger, sites, outcomes)
        except ClusterError as error:  # of the hub: what became of each site until then is reported nevertheless
            for name in outcomes.good():
                outcomes.fail(name, error.message)

    @staticmethod
    def _note_deployed(ledger: Ledger, sites: dict[str, Site], outcomes: Outcomes) -> None:
        """Note on the hub when the sites were deployed, for the alert on those that are left behind. It counts as no change."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        done = {name: {"at": now, "version": sites[name].spec.version} for name in outcomes.good()}
        if done:
            ledger.change(DEPLOYED, lambda index: site_indexes.updated_sites(index, done))

    def _read_app_options(self, sites: dict[str, Site], outcomes: Outcomes) -> None:
        """What each site wants of the rollout of its ClientApps alone."""
        for name, site in sites.items():
            try:
                wait = integer(self.value_of(name, "clientapp_wait_for_runs", 3600)) or 0
                force = boolean(self.value_of(name, "clientapp_force", False))
                site.seconds = integer(self.value_of(name, "clientapp_wait_timeout", 300)) or 0
                site.spec = replace(site.spec, clientapp_wait=wait, clientapp_force=force)
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))

    def _remove_apps(self, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Site]:
        """Remove the ClientApps of sites whose variables want that; returns the other sites."""
        leaving = {name: site for name, site in sites.items() if not outcomes[name].failed and self.value_of(name, "clientapp_state", "") == "absent"}
        backends = self.reach(leaving)

        def one(name: str) -> None:
            backends[name].detect_platform()
            done = backends[name].remove_apps(leaving[name].seconds)
            outcomes.add(name, done)
            outcomes[name].msg = done.msg

        outcomes.each(one, leaving)
        return {name: site for name, site in sites.items() if name not in leaving}

    def _foreseen(self, hub: str) -> dict[str, str]:
        """What the hub would publish after this run in check mode, if it was checked: what is published now may be outdated then.

        Files for a GitOps controller are made for the hub that is there.
        """
        found = self.value_of(hub, _HUB, {}) if self.check and not self.rendering else {}
        return {key: str(found[key]) for key in ("address", "ca_bundle", "server_name") if key in found}
