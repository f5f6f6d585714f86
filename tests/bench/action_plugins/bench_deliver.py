# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of the action supernode that delivers through Open Cluster Management, alone.

The steps before it need agents, which would make keys and say so, and after it nobody tells that it is done.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.deploy import objects_of
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site


class ActionModule(FleetAction):
    """C(found): site -> what the steps before would have found out, as keys of its specification."""

    ARGS = {"sites": {"type": "list", "elements": "str"}, "found": {"type": "dict", "required": True}}

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Bring add-on and ManifestWorks; do not wait."""
        ways: dict[str, Any] = self.reach(sites)

        def bring(name: str) -> None:
            site = sites[name]
            site.spec = replace(site.spec, **params["found"][name])
            delivery = ways[name]._delivery(objects_of(site))
            delivery.apply_nodes(delivery.apply_addon())
            outcomes.add(name, ways[name]._done(delivery))

        outcomes.each(bring)
        return {}
