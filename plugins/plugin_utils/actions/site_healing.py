# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restart SuperNodes that run, but are not online at the SuperLink."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..reach.site import Site
from ..rollout.healing import Healer, Options
from ..rollout.outcome import Outcomes
from ..upgrade import upgrade_record
from .fleet_action import FleetAction

_WORDS = {"healed": "healed", "due": "to restart", "waiting": "waiting", "given_up": "given up"}


class SiteHealing(FleetAction):
    """An action that restarts SuperNodes that are not online."""

    def heal_sites(self, options: Options, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """A site whose variables are wrong, or that does not answer, is in the result, and the others are healed.

        Returns:
            The results of the module with C(state=healed).
        """
        host = self.hub_host()
        namespace, federation = self.of_hub("namespace", host), self.of_hub("federation", host)
        with self.connect(host) as hub:
            hub.name = host
            kept_back = self._kept_back(upgrade_record.Store(hub, namespace, federation), [host, *sites])
            healer = Healer(self, hub, namespace, federation, options)
            wrong = {name: outcome.msg for name, outcome in outcomes.sites.items() if outcome.failed}
            ways = self.reach(sites)
            try:
                found = healer.heal(sites, ways, outcomes)
            finally:
                for way in ways.values():
                    way.rest()
        found["unreadable"] |= wrong
        lines = [f"{one['site']} {one['pool']}/{one['name']}: {word}: {one['why']}" for kind, word in _WORDS.items() for one in found[kind]]
        lines += [words if words.startswith(name) else f"{name}: {words}" for name, words in found["unreadable"].items()]
        msg = ", ".join(f"{len(found[kind])} {word}" for kind, word in _WORDS.items())
        changed = healer.restarted > 0 or (self.check and options.restart and bool(found["due"]))
        return {"changed": changed, "msg": msg, **found, **kept_back, "lines": [words for words in (found["fault"], found["pause"]) if words] + lines}

    @staticmethod
    def _kept_back(store: upgrade_record.Store, hosts: list[str]) -> dict[str, Any]:
        """What a repair must leave to an upgrade that is not complete; all of it, if it is not known how far that is."""
        try:
            record = store.read()
        except ClusterError as error:
            return {"held": hosts, "upgrade": error.message}
        return {"held": upgrade_record.hosts_not_done(record, hosts[0]), "upgrade": upgrade_record.describe(record)}
