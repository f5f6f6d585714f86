# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_info): what runs in the sites' clusters. A cluster that is down is an answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites import workloads
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site


class ActionModule(FleetAction):
    """See the module's documentation."""

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Read the pools and their pods."""
        for delivery, entry in DELIVERIES.items():
            own = [site for site in sites.values() if site.access.delivery == delivery]
            for name, facts in (entry.statuses(self, own, params["timeout"], outcomes.workers) if own else {}).items():
                outcomes[name].facts = facts
        for outcome in outcomes.sites.values():
            if outcome.failed:
                outcome.facts = {**workloads.unknown(), "reachable": False, "error": outcome.msg}
        for name, site in sites.items():
            if site.spec.has_proxy:
                outcomes[name].facts["http_proxy"] = site.spec.http_proxy.address
            if site.has_other_superlink:
                outcomes[name].facts["superlink"] = site.spec.superlink_address
        return {} if self.hub_host() else _without_hub(outcomes)


def _without_hub(outcomes: Outcomes) -> dict[str, Any]:
    """Sentences on sites that join a SuperLink which is not in the inventory: on all of them, and on those with a problem."""
    lines, problems = [], []
    for name, outcome in outcomes.sites.items():
        facts = outcome.facts
        pools = [f"{one['ready']} of {one['desired']} SuperNodes of pool {one['pool']} are ready" for one in facts["workloads"]]
        fault = facts["error"] or facts["trouble"] or ("" if pools else "no SuperNodes are deployed")
        lines.append(f"{name}: SuperLink {facts.get('superlink', 'not known')}: {'; '.join([*pools, *([fault] if fault else [])])}")
        problems += [lines[-1]] if fault else []
    return {"lines": lines, "problems": problems}
