# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deploy the CA bundle to sites, and test which certificates their SuperNodes accept."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..reach.site import DATA_FAULTS, Proof, Site, unexpected
from ..rights import ask
from ..rollout.outcome import Outcomes, resting
from .fleet_action import FleetAction


class SiteTrust(FleetAction):
    """An action that tests which certificates the SuperNodes of sites accept."""

    def prove_trust(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> None:
        """A site that is down or refuses is a valid result: the caller decides what it means."""
        ways = self.reach(sites)

        def prove(name: str) -> None:
            result: dict[str, Any] = {**_unasked(name), "changed": False, "msg": ""}
            entry = params["fleet"].get(name) or {}
            if entry.get("excused"):
                result["msg"] = f"not asked: {entry['excused']}"
            else:
                self._prove(ways[name], params, entry, result)
                because = (params["because"].get(name) or {}).get("trouble")
                if result["trouble"] and because:
                    result["trouble"] = f"{because}; {result['trouble']}"
                done = f"{len(result['pods'])} SuperNodes accept the served certificates"
                result["msg"] = result["trouble"] or result["msg"] or done
            outcomes[name].changed, outcomes[name].msg = result.pop("changed"), result.pop("msg")
            outcomes[name].facts = result
            if params["required"] and result["trouble"]:
                raise ClusterError(result["trouble"])

        outcomes.each(resting(ways, prove))
        failed = [outcome.msg for outcome in outcomes.sites.values() if outcome.failed]
        if params["first"] and failed and not params["alone"]:
            raise ClusterError("; ".join(failed))
        for name, outcome in outcomes.sites.items():
            if outcome.failed:
                outcome.facts = {**_unasked(name), "trouble": outcome.msg, **outcome.facts}

    @staticmethod
    def _prove(way: Any, params: dict[str, Any], entry: dict[str, Any], result: dict[str, Any]) -> None:
        wanted = Proof(
            params["server_name"],
            params["wanted"],
            params["bundle"],
            bool(way.site.spec.ca_bundle),
            params["first"],
            entry.get("expected", []),
            params["wait_timeout"],
        )
        try:
            way.trust(wanted, result)
        except ask.MissingRights:
            raise
        except ClusterError as error:
            result["trouble"] = error.message
        except DATA_FAULTS as error:
            result["trouble"] = unexpected(error)


def _unasked(name: str) -> dict[str, Any]:
    return {"site": name, "trust": None, "pods": [], "accepts": [], "stale": False, "trouble": ""}
