# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode): check, deploy, restart and remove the SuperNodes of all sites of a batch."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_check import SiteCheck
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_healing import SiteHealing
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_pull import ImagePull
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_restart import SiteRestart
from ansible_collections.federated.flower.plugins.plugin_utils.actions.site_trust import SiteTrust
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import messages
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import boolean, integer
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import site_index
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.rbac.role_objects import beside, rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.reach.registry import DELIVERIES
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import RESTART_FILES, Reach, Site
from ansible_collections.federated.flower.plugins.plugin_utils.rollout import healing
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.numbers import CLIENT, KEYS
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes, resting
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.register import Registry
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.steps import AppsOptions, Options, Rollout
from ansible_collections.federated.flower.plugins.plugin_utils.upgrade import as_before
from ansible_collections.federated.flower.plugins.plugin_utils.validate.site_rules import site_problems

ABSENT, CHECKED, DESCRIBED, HEALED, PRESENT, PULLED, RESTARTED, TRUSTED = (
    "absent", "checked", "described", "healed", "present", "pulled", "restarted", "trusted"
)  # fmt: skip
ALL, CLIENTAPP = "all", "clientapp"
# Each site says for itself whether its volumes may be deleted.
VOLUMES = "flower_delete_volumes"
# The role superlink registers its result.
_HUB = "__superlink_deployed"


class ActionModule(SiteCheck, ImagePull, SiteRestart, SiteHealing, SiteTrust):
    """See the module's documentation."""

    ARGS = {
        **OPTIONS,
        "state": {"type": "str", "choices": [ABSENT, CHECKED, DESCRIBED, HEALED, PRESENT, PULLED, RESTARTED, TRUSTED], "default": PRESENT},
        "part": {"type": "str", "choices": [ALL, CLIENTAPP], "default": ALL},
        "renew": {"type": "list", "elements": "str", "choices": [KEYS, CLIENT], "default": []},
        "wait": {"type": "int", "default": 3600},
        "force": {"type": "bool", "default": False},
        "before": {"type": "dict", "default": {}},
        "image_seconds": {"type": "int", "default": 0},
        "wait_timeout": {"type": "int"},
        # checked
        "hub_checked": {"type": "dict", "default": {}},
        "ocm_checked": {"type": "dict", "default": {}},
        # described
        "rights": {"type": "dict", "default": {}},
        "beside": {"type": "list", "elements": "dict", "default": []},
        # restarted
        "files": {"type": "list", "elements": "str", "choices": list(RESTART_FILES)},
        "mark": {"type": "str", "default": ""},
        # healed
        "restart": {"type": "bool", "default": False},
        "all": {"type": "bool", "default": False},
        "after": {"type": "int", "default": 180},
        # trusted
        "fleet": {"type": "dict", "default": {}},
        "server_name": {"type": "str"},
        "wanted": {"type": "dict"},
        "bundle": {"type": "str", "default": ""},
        "because": {"type": "dict", "default": {}},
        "first": {"type": "bool", "default": False},
        "alone": {"type": "bool", "default": False},
        "required": {"type": "bool", "default": False},
    }
    SPEC = {
        "required_if": [
            ("state", RESTARTED, ["files", "wait_timeout"]),
            ("state", HEALED, ["wait_timeout"]),
            ("state", TRUSTED, ["server_name", "wanted", "wait_timeout"]),
        ]
    }

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Do with the sites what C(state) says."""
        state = params["state"]
        if state == HEALED:
            options = healing.Options(params["restart"], params["all"], max(params["after"], 0), params["wait_timeout"])
            return self.heal_sites(options, sites, outcomes)
        if state == PULLED:
            return self.pull_images(sites, outcomes)
        if state == CHECKED:
            self.check_sites(params["hub_checked"], params["ocm_checked"], sites, outcomes)
        elif state == RESTARTED:
            self.restart_sites(params, sites, outcomes)
        elif state == TRUSTED:
            self.prove_trust(params, sites, outcomes)
        elif state == DESCRIBED:
            self._describe(params, sites, outcomes)
        elif state == ABSENT:
            self._remove(self.reach(sites), outcomes)
        else:
            self._deploy(params, sites, outcomes)
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

    def _deploy(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> None:
        ways = self.reach(sites)
        for name, site in sites.items():
            faults = messages(site_problems(site.given))
            if faults:
                outcomes.fail(name, "\n".join(faults))
            site.image_seconds = params["image_seconds"]
            if name in params["before"]:
                site.spec = as_before.site_as_before(site.spec, params["before"][name])
        if not outcomes.good():
            return
        first = sites[outcomes.good()[0]]
        apps = self._apps(sites, outcomes) if params["part"] == CLIENTAPP else {}
        try:
            with self.connect(first.hub) as hub:
                registry = Registry(self, hub, first.hub, first.hub_namespace, first.federation, first.seconds)
                rollout = Rollout(self, registry, first.hub, sites, ways, outcomes, self._options(params, first))
                if params["part"] == CLIENTAPP:
                    rollout.deploy_apps(apps)
                else:
                    rollout.deploy()
                    self._note(registry.ledger, sites, outcomes)
        except ClusterError as error:  # of the hub: what became of each site until then is reported nevertheless
            for name in outcomes.good():
                outcomes.fail(name, error.message)

    @staticmethod
    def _note(ledger: Ledger, sites: dict[str, Site], outcomes: Outcomes) -> None:
        """Note on the hub when the sites were deployed, for the alert on those that are left behind. It counts as no change."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        done = {name: {"at": now, "version": sites[name].spec.version} for name in outcomes.good()}
        if done:
            ledger.change_deployed(lambda index: site_index.updated(index, done))

    def _apps(self, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, AppsOptions]:
        """What each site wants of the rollout of its ClientApps."""
        found = {}
        for name in sites:
            try:
                found[name] = AppsOptions(
                    wait=integer(self.value_of(name, "clientapp_wait_for_runs", 3600)) or 0,
                    force=boolean(self.value_of(name, "clientapp_force", False)),
                    seconds=integer(self.value_of(name, "clientapp_wait_timeout", 300)) or 0,
                )
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))
        return found

    def _options(self, params: dict[str, Any], first: Site) -> Options:
        variables = self.variables_of(first.name)
        return Options(
            partitions=int(variables["supernode_partitions"] or 0) or None,
            repartition=boolean(variables["supernode_repartition"]),
            renew=params["renew"],
            wait=params["wait"],
            force=params["force"],
            foreseen=self._foreseen(first.hub),
        )

    def _foreseen(self, hub: str) -> dict[str, str]:
        """What the hub would publish after this run in check mode, if it was checked: what is published now may be outdated then.

        Files for a GitOps controller are made for the hub that is there.
        """
        found = self.value_of(hub, _HUB, {}) if self.check and not self.rendering else {}
        return {key: str(found[key]) for key in ("address", "ca_bundle", "server_name") if key in found}

    def _remove(self, ways: dict[str, Reach], outcomes: Outcomes) -> None:
        volumes = {}
        for name in ways:
            try:
                volumes[name] = boolean(self.value_of(name, VOLUMES, False))
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))

        def one(name: str) -> None:
            done = ways[name].remove(volumes=volumes[name])
            outcomes.add(name, done)
            outcomes[name].msg = done.msg
            if done.failed:
                raise ClusterError(done.msg)

        outcomes.each(resting(ways, one))
