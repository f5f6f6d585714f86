# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_allocate): partition numbers for the sites of a play."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.federated.flower.plugins.module_utils.node_config import uses_partition
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.hub.credentials import UNKNOWN_ADDRESS
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, ranges, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger, name_fault
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import federation, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "sites": {"type": "list", "elements": "str", "required": True},
        "default_pools": {"type": "list", "elements": "dict", "required": True},
        "partitions": {"type": "int"},
        "repartition": {"type": "bool", "default": False},
        "renew": {"type": "list", "elements": "str", "choices": ["keys", "client"], "default": []},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the hub's publication and the ledger; give the sites their ranges."""
        pools, wanted, faults = self._wanted(params)
        held: dict[str, dict[str, tuple[int, int]]] = {}
        outcome = ranges.Allocation(ranges.empty_book())
        before = ranges.empty_book()

        def change(book: ranges.Book) -> ranges.Book:
            nonlocal outcome, before
            before = book
            try:
                outcome = ranges.allocate(
                    ranges.identified(book),
                    wanted,
                    partitions=params["partitions"],
                    repartition=params["repartition"],
                    order=params["sites"],
                    held=held,
                )
            except ValueError as error:
                raise ClusterError(f"{error}.") from error
            return outcome.book

        with self.connect(params["hub"]) as hub:
            publication = self._publication(hub, params)
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            found, unreadable = ledger.read_sites()
            for site in set(unreadable) & set(pools):
                faults[site] = unreadable[site]
                del pools[site], wanted[site]
            held.update({site: records.numbers(record) for site, record in found.items()})
            changed = ledger.change_book(change)
            for site in set(pools) & set(outcome.book.get("denied", {})):
                denial = outcome.book["denied"][site]
                try:
                    differs = ledger.change_record(site, partial(access.returning, denial=denial))
                except ClusterError as error:
                    faults[site] = error.message
                    continue
                if differs:
                    changed = True
                    self.note(site, access=[{"change": "still denied", "reason": denial["reason"]}])
            for site in pools:
                self._note_pools(site, before["sites"].get(site, {}), outcome.book["sites"].get(site, {}))
            dead = {
                site: [*ranges.left_keys(outcome.book, site), *_dead(found.get(site), params["renew"])]
                for site in pools
            }
        warnings = list(outcome.moved)
        if outcome.stale:
            warnings.append(
                f"{', '.join(outcome.stale)} still count the fleet with fewer than its {outcome.book['partitions']} "
                "partitions, since changing the number restarts their pods; -e flower_repartition=true does it"
            )
        return {
            "changed": changed,
            "warnings": warnings,
            "publication": publication,
            "identity": outcome.book["id"],
            "sites": {
                site: {
                    "allocation": _allocation(outcome.book, site, pools[site]) if site in pools else {},
                    "dead": dead.get(site, []),
                    "fault": faults.get(site, ""),
                }
                for site in params["sites"]
            },
            "msg": f"{len(pools)} sites, {outcome.book['partitions']} partitions",
        }

    def _wanted(
        self, params: dict[str, Any]
    ) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, int]], dict[str, str]]:
        """Site -> its pools; site -> pool -> replicas, of those that count across the fleet; site -> why it has neither."""
        default: list[dict[str, Any]] | None = None
        pools: dict[str, list[dict[str, Any]]] = {}
        wanted: dict[str, dict[str, int]] = {}
        faults: dict[str, str] = {}
        for site in params["sites"]:
            faults[site] = name_fault(site)
            if faults[site]:
                continue
            try:
                own = self._pools(site)
                if not own and default is None:
                    default = self._default(params["default_pools"])
                chosen = own or default or []
                wanted[site] = {
                    pool["name"]: supernode.pool_replicas(pool) or 0 for pool in chosen if _counts_across_fleet(pool)
                }
                pools[site] = chosen
            except (AnsibleError, ClusterError, AttributeError, KeyError, TypeError, ValueError) as error:
                faults[site] = (
                    f"its supernode_pools cannot be read ({type(error).__name__}: {error}). Correct that variable."
                )
        return pools, wanted, {site: fault for site, fault in faults.items() if fault}

    def _note_pools(self, site: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Note the ranges of a site that are new or differ, and the pools that have none any more."""
        was, now = before.get("pools", {}), after.get("pools", {})
        gone = [{"pool": pool, "change": "freed"} for pool in was if pool not in now]
        self.note(
            site, partitions=[*({"pool": pool, **now[pool]} for pool in now if now[pool] != was.get(pool)), *gone]
        )

    def _pools(self, site: str) -> list[dict[str, Any]] | None:
        try:
            pools = self.task_vars["hostvars"][site].get("supernode_pools")
        except KeyError:
            raise ClusterError(f"the inventory has no host '{site}'.") from None
        return None if pools is None else plain(self._templar.template(pools))

    def _default(self, of_role: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Pools of a site whose inventory names none: those of the play, else those of the role.

        Variables of a play or a role are not among the variables of other hosts, but this host sees them.
        """
        here = self.task_vars.get("supernode_pools")
        if here is None or self._pools(self.inventory_host) is not None:
            return of_role
        return plain(self._templar.template(here))

    def _publication(self, hub: Cluster, params: dict[str, Any]) -> dict[str, str]:
        found = hub.get("v1", "ConfigMap", federation.NAME, params["hub_namespace"])
        if found is not None:
            return {key.replace("ca.crt", "ca_bundle"): value for key, value in found["data"].items()}
        if self.check:
            stand_in = certificates.make_ca("made together with the hub", datetime.timedelta(days=1)).certificate
            return {"address": UNKNOWN_ADDRESS, "ca_bundle": stand_in, "server_name": "", "version": ""}
        raise ClusterError(
            f"there is no federation in namespace {params['hub_namespace']} of the hub {params['hub']} ({hub.name}): "
            "deploy the hub first, or correct flower_hub_group and flower_namespace."
        )


def _dead(record: records.Record | None, renew: list[str]) -> list[str]:
    """Fingerprints of keys that the site has to replace."""
    if record is None:
        return []
    chosen = records.dead_keys(record)
    if "keys" in renew:
        chosen += records.to_renew(record)
    if "client" in renew and record.get("client"):
        chosen.append(record["client"]["key"])
    return chosen


def _counts_across_fleet(pool: dict[str, Any]) -> bool:
    return supernode.pool_mode(pool) == "StatefulSet" and uses_partition(pool.get("node_config") or {})


def _allocation(book: ranges.Book, site: str, pools: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    entry = book["sites"].get(site, {"partitions": book["partitions"], "pools": {}})
    return {
        pool["name"]: {
            "offset": entry["pools"].get(pool["name"], {}).get("offset", 0),
            "partitions": entry["partitions"] or book["partitions"],
        }
        for pool in pools
    }
