# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_restart): restart SuperNodes that run with outdated files."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS, FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import (
    DATA_FAULTS,
    RESTART_FILES,
    Site,
    unexpected,
)
from ansible_collections.federated.flower.plugins.plugin_utils.rollout import steps
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.register import Registry


class ActionModule(FleetAction):
    """See the module's documentation."""

    ARGS = {
        **OPTIONS,
        "files": {"type": "list", "elements": "str", "choices": list(RESTART_FILES), "required": True},
        "mark": {"type": "str", "default": ""},
        "force": {"type": "bool", "default": False},
        "wait": {"type": "int", "default": 3600},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Site by site, pool by pool, and each only while every SuperNode is online and no run is active."""
        if not sites:
            return {}
        for site in sites.values():
            site.seconds = params["wait_timeout"]
        first = next(iter(sites.values()))
        ways = self.reach(sites)
        with self.connect(first.hub) as hub:
            registry = Registry(self, hub, first.hub, first.hub_namespace, first.federation, first.seconds)
            options = steps.Options(wait=params["wait"], force=params["force"])
            rollout = steps.Rollout(self, registry, first.hub, sites, ways, outcomes, options)
            for name in sites:
                outcomes.go_on()
                outcomes[name].facts = self._restart(rollout, name, params)
                outcomes[name].changed = outcomes[name].facts.pop("changed")
                done = (
                    f"{len(outcomes[name].facts['restarted'])} SuperNodes {'to restart' if self.check else 'restarted'}"
                )
                outcomes[name].msg = outcomes[name].facts["trouble"] or done
                ways[name].rest()
        return {}

    @staticmethod
    def _restart(rollout: steps.Rollout, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """What prevents a site from continuing is a valid result: the caller decides what it means."""
        result: dict[str, Any] = {"changed": False, "site": name, "trouble": "", "renewed": False, "restarted": []}
        try:
            rollout.ways[name].settle()
            rollout.ways[name].restart(rollout.restart_of(name, params["files"], params["mark"]), result)
        except ClusterError as error:
            result["trouble"] = error.message.rstrip(".")
        except DATA_FAULTS as error:
            result["trouble"] = unexpected(error)
        return result
