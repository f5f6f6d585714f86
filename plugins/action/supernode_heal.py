# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_heal): restart SuperNodes that run, but are not online at the SuperLink."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS, FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.healing import Healer, Options
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.upgrade import unfinished

_WORDS = {"healed": "healed", "due": "to restart", "waiting": "waiting", "given_up": "given up"}


class ActionModule(FleetAction):
    """See the module's documentation."""

    ARGS = {
        **OPTIONS,
        "hub": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "federation": {"type": "str"},
        "restart": {"type": "bool", "default": False},
        "all": {"type": "bool", "default": False},
        "after": {"type": "int", "default": 180},
        "wait_timeout": {"type": "int", "default": 180},
    }

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """A site whose variables are wrong, or that does not answer, is in the result, and the others are healed."""
        options = Options(params["restart"], params["all"], max(params["after"], 0), params["wait_timeout"])
        with self.connect(params["hub"]) as hub:
            hub.name = params["hub"]
            held = self._held(unfinished.Store(hub, params["namespace"], params["federation"]), [params["hub"], *sites])
            healer = Healer(self, hub, params["namespace"], params["federation"], options)
            wrong = {name: outcome.msg for name, outcome in outcomes.sites.items() if outcome.failed}
            ways = self.reach(sites)
            try:
                told = healer.heal(sites, ways, outcomes)
            finally:
                for way in ways.values():
                    way.rest()
        told["unreadable"] |= wrong
        lines = [f"{one['site']} {one['pool']}/{one['name']}: {word}: {one['why']}" for word, one in _listed(told)]
        lines += [words if words.startswith(name) else f"{name}: {words}" for name, words in told["unreadable"].items()]
        msg = ", ".join(f"{len(told[kind])} {word}" for kind, word in _WORDS.items())
        changed = healer.restarted > 0 or (self.check and params["restart"] and bool(told["due"]))
        return {"changed": changed, "msg": msg, **told, **held, "lines": [words for words in (told["fault"], told["pause"]) if words] + lines}

    @staticmethod
    def _held(store: unfinished.Store, hosts: list[str]) -> dict[str, Any]:
        """What a repair must leave to an upgrade that is not complete; all of it, if it is not known how far that is."""
        try:
            progress = store.read()
        except ClusterError as error:
            return {"held": hosts, "upgrade": error.message}
        return {"held": unfinished.held(progress, hosts[0]), "upgrade": unfinished.words(progress)}


def _listed(told: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(word, one) for kind, word in _WORDS.items() for one in told[kind]]
