# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.site_access): deny a site, or admit it again, at once and for good."""

from __future__ import annotations

import datetime
import json
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import CONTAINER
from ansible_collections.federated.flower.plugins.plugin_utils.hub import access_program, clients
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.ranges import Book
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.records import Record
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gateway
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.superlink import POD
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.watch import RUN_DIR


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "site": {"type": "str", "required": True},
        "state": {"type": "str", "choices": [access.DENIED, access.ADMITTED], "required": True},
        "reason": {"type": "str", "default": ""},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ledger first, then the gateway's files, then the running gateway: a denial holds even if this is interrupted."""
        site, denying = params["site"], params["state"] == access.DENIED
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            book, (records, unreadable) = ledger.read_book(), ledger.read_sites()
            if site in unreadable and not denying:
                raise ClusterError(unreadable[site])
            self._check_known(hub, site, denying, book, {**unreadable, **records})
            asked = self._asked(hub, params["hub_namespace"])
            warnings = self._check_gateway(hub, site, asked, records.get(site)) if denying else []
            now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()

            def change(record: Record) -> Record:
                return access.deny(record, params["reason"], now) if denying else access.admit(record)

            def change_book(old: Book) -> Book:
                if denying:  # the denial of a site whose record cannot be read stands in the book
                    return access.deny_absent(old, site, params["reason"], now) if site in unreadable else old
                return access.admit_absent(old, site)

            changed = ledger.change_book(change_book)
            if site in records:
                changed |= ledger.change_record(site, change)
            if changed:
                self.note(site, access=[{"change": params["state"], "reason": params["reason"]}])
            foreseen = change_book(book), {name: change(it) if name == site else it for name, it in records.items()}
            store = ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check)
            changed |= store.publish(foreseen=foreseen if self.check else None, admitted="" if denying else site)
            reported, trouble = False, ""
            if asked != "none" and not self.check:
                reported, trouble = self._tell(hub, params["hub_namespace"], clients.denied_sites(store.read()))
            if store.diff:
                store.load_now()
        if trouble:
            raise ClusterError(
                f"{site} is {params['state']} in the ledger and in the gateway's files, which it loads within two minutes, but "
                f"the running gateway could not be updated at once: {trouble}. Run again."
            )
        found = access.denied(*foreseen).get(site, {})
        return {
            "changed": changed or reported,
            "diff": store.diff,
            "objects": store.objects,
            "warnings": warnings,
            "site": site,
            "state": params["state"],
            "since": found.get("since", ""),
            "reason": found.get("reason", ""),
            "msg": self._words(site, found, changed or reported),
        }

    @staticmethod
    def _words(site: str, found: dict[str, Any], changed: bool) -> str:
        if not found:
            return f"{site} is admitted" + ("" if changed else ", as it was")
        return f"{site} is denied since {found['since']} ({found['reason'] or 'no reason given'})"

    @staticmethod
    def _check_known(hub: Cluster, site: str, denying: bool, book: Book, records: dict[str, Any]) -> None:
        if site in records or (not denying and site in (book.get("denied") or {})):
            return
        known = ", ".join(sorted(records)) or "none"
        raise ClusterError(
            f"site: the ledger on {hub.name} has no site '{site}'. It has: {known}. Names are those of the inventory."
        )

    @staticmethod
    def _asked(hub: Cluster, namespace: str) -> str:
        """Whether the gateway asks for client certificates."""
        config = hub.get("v1", "ConfigMap", gateway.CONFIG, namespace)
        if config is None:
            raise ClusterError(f"there is no gateway in namespace {namespace} on {hub.name}: deploy the hub first.")
        return gateway.asked_by(config["data"]["haproxy.cfg"])

    @staticmethod
    def _check_gateway(hub: Cluster, site: str, asked: str, record: Record | None) -> list[str]:
        """Refuse a denial that would have no effect; warn of one that can be bypassed."""
        if asked == "none":
            raise ClusterError(
                f"the gateway on {hub.name} does not request client certificates, so it cannot distinguish {site} from other sites: set "
                "superlink_client_certificates to required (flower_mtls to true) and run federated.flower.site."
            )
        if record is not None and not record.get("client"):
            raise ClusterError(
                f"{site} has no client certificate, so the gateway cannot distinguish it from other sites: set supernode_mtls to true "
                "for it and run federated.flower.site."
            )
        if asked == "optional":
            return [
                f"superlink_client_certificates is optional: {site} is refused as long as it presents its certificate, and "
                "could omit it. Set it to required."
            ]
        return []

    @staticmethod
    def _tell(hub: Cluster, namespace: str, wanted: list[str]) -> tuple[bool, str]:
        """Update the list of denied sites of the running gateway; returns whether it differed, and the error."""
        pod = hub.get("v1", "Pod", POD, namespace)
        if pod is None or pod.get("status", {}).get("phase") == "Pending":
            return False, ""  # it reads its files when it starts
        request = {"socket": f"{RUN_DIR}/admin.sock", "list": gateway.DENIED, "wanted": wanted}
        try:
            output = in_pod.run(hub, namespace, POD, CONTAINER, access_program, request, seconds=30)
        except ClusterError as error:
            return False, error.message
        if output.rc != 0 or len(output.answers) != 1:
            return False, f"the program in pod {namespace}/{POD} ended with code {output.rc}: {output.said}"
        answer = json.loads(output.answers[0])
        if "error" in answer:
            return False, answer["error"]
        return bool(answer["added"] or answer["removed"]), ""
