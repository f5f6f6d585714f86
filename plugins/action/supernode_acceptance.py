# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_acceptance): have SuperNodes measure the way to the hub, and judge each site."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import BUNDLE, SUPERLINK, SUPERLINK_POD
from ansible_collections.federated.flower.plugins.plugin_utils.checks import acceptance
from ansible_collections.federated.flower.plugins.plugin_utils.checks.acceptance import BAD, OPEN, Check, Limits
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import partitions
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct_connection
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Facts, Site
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records, site_indexes
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import ACCEPTANCE, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import Record


class ActionModule(FleetAction):
    """See the module's documentation."""

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """A site that is down is not accepted, which is a valid result."""
        if not 0 <= params["idle"] <= acceptance.MOST_IDLE:
            raise ClusterError(f"flower_verify_idle: {params['idle']:g} is not a number of seconds from 0 to {acceptance.MOST_IDLE}")
        checks: dict[str, list[Check]] = {}
        if params["joining"] and sites:
            sites = self._joining(sites, outcomes)
        if sites:
            self._measure(sites, Limits(params["round_trip"], params["upload"], params["idle"]), checks, outcomes)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        results: dict[str, Facts] = {}
        for name, outcome in outcomes.sites.items():
            if outcome.failed:
                checks[name] = [Check("site", BAD, outcome.msg.removeprefix(f"{name}: "))]
                outcome.failed = False
            results[name] = outcome.facts = acceptance.entry(checks[name], now)
            outcome.msg = f"{'accepted' if results[name]['accepted'] else 'not accepted'}, {results[name]['score']} of 100"
        return {"table": acceptance.table(results), "warnings": self._keep(sites, results)}

    def _keep(self, sites: dict[str, Site], results: dict[str, Facts]) -> list[str]:
        """Keep the results on the hub; what cannot be kept is a warning, and is shown all the same."""
        if not sites:
            return []
        first = next(iter(sites.values()))

        def updated(index: site_indexes.SiteIndex) -> site_indexes.SiteIndex:
            # Results of earlier releases, which kept more, are shortened as well.
            return {
                site_indexes.SITES: {
                    name: acceptance.kept(one)
                    for name, one in site_indexes.updated_sites(index, results)[site_indexes.SITES].items()
                }
            }

        try:
            with self.connect(first.hub) as hub:
                Ledger(hub, first.hub_namespace, first.federation, check=self.check).change(ACCEPTANCE, updated)
        except ClusterError as error:
            return [f"the results cannot be stored on the hub, so sites that joined do not count as accepted: {error.message}"]
        return []

    def _joining(self, sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Site]:
        """Those whose SuperNodes have come, that never passed an acceptance, and are not denied; the others are no part of the result."""
        first = next(iter(sites.values()))
        with self.connect(first.hub) as hub:
            ledger = Ledger(hub, first.hub_namespace, first.federation)
            last = ledger.read(ACCEPTANCE).get(site_indexes.SITES, {})
            records, unreadable = ledger.read_sites()
            denied = access_records.denied(ledger.read_book(), records)
            new = [name for name in sites if name not in denied and not (last.get(name) or {}).get("accepted")]
            nodes = FlowerCLI(hub, first.hub_namespace).nodes() if new else {}

        def has_come(name: str) -> bool:
            return acceptance.was_online(_keys(records, name), nodes, by_hand=sites[name].access.delivery == BUNDLE)

        chosen = {name: sites[name] for name in new if name in unreadable or has_come(name)}
        for name in sites:
            if name not in chosen:
                del outcomes.sites[name]
        return chosen

    def _measure(self, sites: dict[str, Site], limits: Limits, checks: dict[str, list[Check]], outcomes: Outcomes) -> None:
        backends = self.reach(sites)
        first = next(iter(sites.values()))
        with self.connect(first.hub) as hub:
            published = partitions.publication(hub, first.hub, first.hub_namespace, check=False)
            nodes = FlowerCLI(hub, first.hub_namespace).nodes()
            records, unreadable = Ledger(hub, first.hub_namespace, first.federation).read_sites()
            clock = self._clock(hub, first.hub_namespace)

        def judge(name: str) -> None:
            if name in unreadable:
                raise ClusterError(unreadable[name])
            signed = not sites[name].spec.insecure
            found = checks[name] = [acceptance.online(_keys(records, name), nodes) if signed else acceptance.NAMELESS]
            try:
                measured = backends[name].measure(published, limits.idle)
            except ClusterError as error:
                found.append(Check("cluster", BAD, error.message))
                return
            if measured is None:
                found.append(Check("way", OPEN, "its pods cannot be queried"))
            for pool, one in (measured or {}).items():
                found += acceptance.of_pool(pool, one, limits, clock, signed=signed)

        outcomes.each(judge)

    @staticmethod
    def _clock(hub: Cluster, namespace: str) -> float:
        pod = {"metadata": {"namespace": namespace, "name": SUPERLINK_POD}}
        return direct_connection.ask_apps(hub, pod, SUPERLINK, {})[1]


def _keys(records: dict[str, Record], site: str) -> list[Facts]:
    """The keys of a site in the ledger; none while it has no record."""
    return list(records[site]["keys"].values()) if site in records else []
