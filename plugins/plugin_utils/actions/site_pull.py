# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Have nodes pull new images before SuperNodes are replaced."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..base.hosts import named
from ..base.problems import messages
from ..base.values import boolean, integer
from ..manifests import supernode
from ..reach.site import Pulled, Reach, Site
from ..rollout.outcome import Outcomes, resting
from ..validate.site_rules import site_problems
from .fleet_action import FleetAction

# Each site says for itself whether, and for how long.
WISH, SECONDS = "flower_upgrade_pull", "flower_upgrade_pull_timeout"
_SECONDS = 900


class ImagePull(FleetAction):
    """An action that has the nodes of sites pull images."""

    def pull_images(self, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """All sites at once; a site of which a node does not get an image fails.

        Returns:
            C(lines), a sentence for each site.
        """
        ways = self.reach(sites)
        seconds: dict[str, int] = {}
        for name, site in sites.items():
            try:
                wish = boolean(self.value_of(name, WISH, True))
                limit = integer(self.value_of(name, SECONDS, _SECONDS)) or 0
            except (ClusterError, ValueError) as error:
                outcomes.fail(name, str(error))
                continue
            faults = messages(site_problems(site.given))
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
