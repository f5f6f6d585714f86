# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_pull): have nodes pull new images before SuperNodes are replaced."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS, FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.hosts import named
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import boolean, integer
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import Pulled, Reach, Site
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes, resting
from ansible_collections.federated.flower.plugins.plugin_utils.validate.supernode_faults import supernode_faults

# Each site says for itself whether, and for how long.
WISH, SECONDS = "flower_upgrade_pull", "flower_upgrade_pull_timeout"
_SECONDS = 900


class ActionModule(FleetAction):
    """See the module's documentation."""

    ARGS = OPTIONS

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """All sites at once; what a node does not get ends its site only."""
        ways = self.reach(sites)
        seconds: dict[str, int] = {}
        for name, site in sites.items():
            try:
                wish = boolean(self.value_of(name, WISH, True))
                limit = integer(self.value_of(name, SECONDS, _SECONDS)) or 0
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))
                continue
            faults = supernode_faults(site.given)
            if faults:
                outcomes.fail(name, "\n".join(faults))
            elif limit < 1:
                outcomes.fail(name, f"{SECONDS}: {limit} is not a number of seconds from 1")
            elif not wish:
                outcomes[name].msg = f"nothing is pulled beforehand: {WISH} is false"
            else:
                seconds[name] = limit

        def one(name: str) -> None:
            ways[name].settle()
            done = self._pull(ways[name], sites[name], seconds[name])
            outcomes[name].msg = done.msg or f"nothing is pulled beforehand: {done.skipped}"
            if done.images and not self.check:  # no object is another one afterwards
                self.note(name, words=[done.msg])
            outcomes[name].facts = {"images": done.images, "nodes": done.nodes, "skipped": done.skipped}

        outcomes.each(resting(ways, one), seconds)
        return {"lines": [named(name, outcome.msg) for name, outcome in outcomes.sites.items()]}

    @staticmethod
    def _pull(way: Reach, site: Site, seconds: int) -> Pulled:
        return way.pull(supernode.objects(site.spec.complete()), seconds)
