# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restart SuperNodes that run with outdated files."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..reach.site import DATA_FAULTS, Site, unexpected
from ..rollout import steps
from ..rollout.outcome import Outcomes
from ..rollout.register import Registry
from .fleet_action import FleetAction


class SiteRestart(FleetAction):
    """An action that restarts the SuperNodes of sites."""

    def restart_sites(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> None:
        """Site by site, pool by pool, and each only while every SuperNode is online and no run is active."""
        if not sites:
            return
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
                done = f"{len(outcomes[name].facts['restarted'])} SuperNodes {'to restart' if self.check else 'restarted'}"
                outcomes[name].msg = outcomes[name].facts["trouble"] or done
                ways[name].rest()

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
