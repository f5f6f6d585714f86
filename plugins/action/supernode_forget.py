# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_forget): unregister the SuperNodes of sites that left, free their numbers."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import leaving
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.state import (
    access_records,
    forgetting,
    partition_numbers,
    records,
    site_indexes,
)
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import (
    ACCEPTANCE,
    DATASETS,
    DEPLOYED,
    NODES,
    Ledger,
    LedgerError,
)

SUPERLINK = "superlink"  # its StatefulSet


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Unregister first, forget afterwards, so that an interrupted run can be repeated. A site that fails keeps its record."""
        try:
            chosen = forgetting.names(params["sites"])
        except ValueError as error:
            raise ClusterError(f"{error}.") from error
        if not chosen and params["removed"] is None:
            return {"changed": False, "nodes": [], "sites": [], "warnings": [], "msg": "0 sites to forget"}
        if params["removed"] is not None:
            return self._others({*chosen, *params["removed"]}, params)
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            found, unreadable = ledger.read_sites()
            refused = forgetting.forget_error(chosen, {*found, *unreadable}, params["inventory"], params["max"])
            if refused:
                raise ClusterError(f"{refused}.")
            unknown = forgetting.unknown_sites(chosen, {*found, *unreadable}, ledger.read_book())
            warnings = []
            if unknown and params["inventory"] is not None:  # a teardown names its hosts, deployed or not
                words = f"{forgetting.VARIABLE}: the ledger has no record of {', '.join(map(repr, unknown))}, so there is nothing to forget"
                warnings.append(f"{words}. It has: {', '.join(sorted({*found, *unreadable})) or 'no site'}")
            listed, served = [site for site in chosen if site not in unknown], dict[str, str]()
            # Open Cluster Management must end its delivery first. A run with the hub has tried that; in check mode it only would.
            is_tried = params["hub_left_out"] or not (self.check or params["validate"])
            if listed and params["inventory"] is not None and is_tried:
                served = leaving.forgetting_errors(hub, params["federation"], listed, found, unreadable)
            if params["validate"]:
                if served:
                    raise ClusterError("; ".join(f"{site} cannot be forgotten: {words}" for site, words in served.items()) + ".")
                return {"changed": False, "nodes": [], "sites": listed, "warnings": warnings, "msg": f"{len(listed)} sites to forget"}
            faults = served | {site: unreadable[site] for site in chosen if site in unreadable}
            known = {site: found[site] for site in chosen if site in found and site not in served}
            nodes = {site: [key["node_id"] for key in record["keys"].values() if key["node_id"]] for site, record in known.items()}
            registered = any(nodes.values())
            runs = not registered or hub.get("apps/v1", "StatefulSet", SUPERLINK, params["hub_namespace"]) is not None
            if registered and runs and not self.check:
                cli = FlowerCLI(hub, params["hub_namespace"])
                cli.wait_for_superlink(params["wait_timeout"])
                faults |= cli.unregister_known(nodes, cli.nodes())
            known = {site: record for site, record in known.items() if site not in faults}
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            keys = {site: access_records.known_keys(known.get(site, {})) for site in chosen if site not in faults}
            freed = ledger.change_book(lambda book: access_records.with_revoked_sites(partition_numbers.forget(book, keys, now), known, now))
            deleted = []
            for site, record in known.items():
                try:
                    if not ledger.delete_record(site, record):
                        continue
                except LedgerError as error:
                    faults[site] = error.message
                    continue
                deleted.append(site)
                older = [{"change": "revoked", "serial": records.serial_of(one)} for one in record.get("superseded", [])]
                self.note(
                    site,
                    words=["forgotten"],
                    keys=[records.public_facts(key, facts, "retired") for key, facts in record["keys"].items()],
                    certificates=[*older, *access_records.certificate_facts(record, "revoked")],
                )
            keys = {site: found for site, found in keys.items() if site not in faults}
            store = ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check)
            differed = store.publish_and_load()  # also when this run deleted nothing: the previous one may have been interrupted here
            dropped = ledger.change(DATASETS, lambda index: site_indexes.without_datasets(index, keys))
            for part in (NODES, ACCEPTANCE, DEPLOYED):
                dropped |= ledger.change(part, lambda index: site_indexes.without_site(index, keys))
        wanted = [node for site in known for node in nodes[site]]
        did = f"{len(wanted)} SuperNodes unregistered" if runs else f"the SuperLink is removed already: {len(wanted)} SuperNodes are not unregistered"
        return {
            "changed": freed or bool(deleted) or differed or dropped,
            "failed": bool(faults),
            "diff": store.diff,
            "nodes": wanted if runs else [],
            "sites": [site for site in keys if site not in unknown],
            "warnings": warnings,
            "msg": "; ".join([f"{did}, {len(deleted)} sites forgotten", *(f"{site} is not forgotten: {words}" for site, words in faults.items())]),
        }

    def _others(self, gone: set[str], params: dict[str, Any]) -> dict[str, Any]:
        """The result with the sites that would lose their hub. With C(validate), one that cannot be queried is a warning: it is queried again."""
        result: dict[str, Any] = {"changed": False, "nodes": [], "sites": [], "others": []}
        try:
            with self.connect(params["hub"]) as hub:
                found, unreadable = Ledger(hub, params["hub_namespace"], params["federation"]).read_sites()
        except ClusterError as error:
            if not params["validate"]:
                raise
            words = f"cannot determine whether other sites need the hub: {error.message}"
            return {**result, "warnings": [words], "msg": words}
        known = {*found, *unreadable} - gone
        others = sorted(site for site in known if site in unreadable or records.serving_ids(found[site]))
        return {**result, "others": others, "msg": f"{len(others)} other sites have registered SuperNodes"}
