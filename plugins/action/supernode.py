# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode): check, deploy, heal, restart and remove the SuperNodes of all sites of a batch."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_check import SiteCheck
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_deployment import SiteDeployment
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_steps import (
    ImagePull,
    SiteHealing,
    SiteRestart,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions, healing
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.role_objects import beside, rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site, SiteBackend

ABSENT, CHECKED, DESCRIBED, HEALED, PULLED, RESTARTED = "absent", "checked", "described", "healed", "pulled", "restarted"
CLIENTAPP = "clientapp"
# Each site says for itself whether its volumes may be deleted.
VOLUMES = "flower_delete_volumes"


class ActionModule(SiteCheck, SiteDeployment, ImagePull, SiteHealing, SiteRestart):
    """See the module's documentation."""

    SPEC = {"required_if": [("state", HEALED, ["wait_timeout"]), ("state", RESTARTED, ["wait_timeout"])]}

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Do with the sites what C(state) says."""
        state = params["state"]
        if state == HEALED:
            options = healing.Options(params["restart"], params["all"], max(params["after"], 0), params["wait_timeout"])
            return self.heal_sites(options, sites, outcomes)
        if state == RESTARTED:
            return self.restart_pods(sites, outcomes, serverapp=params["serverapp"], wait=params["wait"], seconds=params["wait_timeout"])
        if state == PULLED:
            return self.pull_images(sites, outcomes)
        if state == CHECKED:
            self.check_sites(params["hub_checked"], params["ocm_checked"], sites, outcomes)
        elif state == DESCRIBED:
            self._describe(params, sites, outcomes)
        elif state == ABSENT:
            self._remove(self.reach(sites), outcomes)
        else:
            return self._deploy(params, sites, outcomes)
        return {}

    @staticmethod
    def _describe(params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> None:
        """Give the rights that are needed in the clusters of sites. No cluster is contacted."""
        for name, site in sites.items():
            own_access = DELIVERIES[site.access.delivery].own_access  # without it, no rights are needed there
            outcomes[name].facts = {"rights": [], "own_access": own_access}
            if own_access:
                try:
                    outcomes[name].facts["rights"] = beside(rights_objects(SUPERNODE, site.given, params["rights"]), params["beside"])
                except ValueError as error:
                    outcomes.fail(name, str(error))

    def _deploy(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Deploy the sites, or remove those that the variables of the role want removed."""
        apps_alone = params["part"] == CLIENTAPP
        leaving = {name: site for name, site in sites.items() if not apps_alone and site.given.get("state") == ABSENT}
        sites = {name: site for name, site in sites.items() if name not in leaving}
        self._remove(self.reach(leaving), outcomes.of(leaving))
        for name, site in sites.items():
            site.image_seconds = params["image_seconds"]
            if name in params["before"]:
                site.spec = flower_versions.former_site(site.spec, params["before"][name])
        self.deploy_sites(sites, outcomes.of(sites), apps_alone=apps_alone)
        removed = [name for name, site in leaving.items() if not outcomes[name].failed and not site.has_other_superlink]
        return {"removed": removed} if removed else {}

    def _remove(self, backends: dict[str, SiteBackend], outcomes: Outcomes) -> None:
        volumes = {}
        for name in backends:
            try:
                volumes[name] = boolean(self.value_of(name, VOLUMES, False))
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))

        def one(name: str) -> None:
            done = backends[name].remove(volumes=volumes[name])
            outcomes.add(name, done)
            outcomes[name].msg = done.msg
            site = backends[name].site
            if site.has_other_superlink:
                outcomes[name].msg += f". Its SuperNodes are registered at {site.spec.superlink_address} until its administrator unregisters them"
            if done.failed:
                raise ClusterError(done.msg)

        outcomes.each(one)
