# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deny a site, or admit it again: ledger first, then the gateway's files, then the running gateway."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..flower import in_pod
from ..flower.cli import CONTAINER
from ..hub import access_program, clients
from ..hub.client_store import ClientStore
from ..kube.client import Cluster
from ..ledger import access
from ..ledger.ranges import Book
from ..ledger.records import Record
from ..ledger.store import Ledger
from ..manifests import gateway
from ..manifests.superlink import POD
from ..manifests.watch import RUN_DIR


@dataclass
class Admitted:
    """Outcome of a change.

    Attributes:
        changed: whether anything differed.
        denial: the site's denial as it is now; empty for a site that is admitted.
        diff: entries for C(--diff).
        objects: the result for each object, in the format of C(apply).
        warnings: sentences.
    """

    changed: bool
    denial: dict[str, Any]
    diff: list[dict[str, str]] = field(default_factory=list)
    objects: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Admission:
    """Who is admitted to a hub.

    Args:
        hub: a connection to it.
        namespace: the SuperLink's.
        federation: the federation's name.
        note: records a change for the audit trail.
        check: True writes nothing.
    """

    def __init__(self, hub: Cluster, namespace: str, federation: str, note: Callable[..., None], *, check: bool = False) -> None:
        self.hub, self.namespace, self.note, self.check = hub, namespace, note, check
        self.ledger = Ledger(hub, namespace, federation, check=check)

    def denial(self, site: str) -> dict[str, Any]:
        """The denial of a site; empty where it is admitted."""
        records, _unreadable = self.ledger.read_sites()
        return access.denied(self.ledger.read_book(), records).get(site, {})

    def change(self, site: str, state: str, reason: str = "") -> Admitted:
        """Change it. A denial holds even if this is interrupted.

        Args:
            site: inventory name.
            state: C(access.DENIED) or C(access.ADMITTED).
            reason: for people.

        Raises:
            ClusterError: the site is not known, a denial would have no effect, or the running gateway could not be updated.
        """
        denying = state == access.DENIED
        book, (records, unreadable) = self.ledger.read_book(), self.ledger.read_sites()
        if site in unreadable and not denying:
            raise ClusterError(unreadable[site])
        self._check_known(site, denying, book, {**unreadable, **records})
        asked = self._asked()
        warnings = self._check_gateway(site, asked, records.get(site)) if denying else []
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()

        def change(record: Record) -> Record:
            return access.deny(record, reason, now) if denying else access.admit(record)

        def change_book(old: Book) -> Book:
            if denying:  # the denial of a site whose record cannot be read stands in the book
                return access.deny_absent(old, site, reason, now) if site in unreadable else old
            return access.admit_absent(old, site)

        changed = self.ledger.change_book(change_book)
        if site in records:
            changed |= self.ledger.change_record(site, change)
        if changed:
            self.note(site, access=[{"change": state, "reason": reason}])
        foreseen = change_book(book), {name: change(it) if name == site else it for name, it in records.items()}
        store = ClientStore(self.hub, self.namespace, self.ledger, note=self.note, check=self.check)
        changed |= store.publish(foreseen=foreseen if self.check else None, admitted="" if denying else site)
        reported, trouble = False, ""
        if asked != "none" and not self.check:
            reported, trouble = self._tell(clients.denied_sites(store.read()))
        if store.diff:
            store.load_now()
        if trouble:
            raise ClusterError(
                f"{site} is {state} in the ledger and in the gateway's files, which it loads within two minutes, but "
                f"the running gateway could not be updated at once: {trouble}. Run again."
            )
        found = access.denied(*foreseen).get(site, {})
        return Admitted(changed or reported, found, store.diff, store.objects, warnings)

    def fault(self, site: str) -> str:
        """Why a denial of a site would have no effect; empty if it would."""
        records, unreadable = self.ledger.read_sites()
        try:
            self._check_known(site, True, {}, {**unreadable, **records})
            self._check_gateway(site, self._asked(), records.get(site))
        except ClusterError as error:
            return error.message
        return ""

    def _check_known(self, site: str, denying: bool, book: Book, records: dict[str, Any]) -> None:
        if site in records or (not denying and site in (book.get("denied") or {})):
            return
        known = ", ".join(sorted(records)) or "none"
        raise ClusterError(
            f"site: the ledger on {self.hub.name} has no site '{site}'. It has: {known}. Names are those of the inventory."
        )

    def _asked(self) -> str:
        """Whether the gateway asks for client certificates."""
        config = self.hub.get("v1", "ConfigMap", gateway.CONFIG, self.namespace)
        if config is None:
            raise ClusterError(f"there is no gateway in namespace {self.namespace} on {self.hub.name}: deploy the hub first.")
        return gateway.asked_by(config["data"]["haproxy.cfg"])

    def _check_gateway(self, site: str, asked: str, record: Record | None) -> list[str]:
        """Refuse a denial that would have no effect; warn of one that can be bypassed."""
        if asked == "none":
            raise ClusterError(
                f"the gateway on {self.hub.name} does not request client certificates, so it cannot distinguish {site} from other sites: set "
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

    def _tell(self, wanted: list[str]) -> tuple[bool, str]:
        """Update the list of denied sites of the running gateway; returns whether it differed, and the error."""
        pod = self.hub.get("v1", "Pod", POD, self.namespace)
        if pod is None or pod.get("status", {}).get("phase") == "Pending":
            return False, ""  # it reads its files when it starts
        request = {"socket": f"{RUN_DIR}/admin.sock", "list": gateway.DENIED, "wanted": wanted}
        try:
            output = in_pod.run(self.hub, self.namespace, POD, CONTAINER, access_program, request, seconds=30)
        except ClusterError as error:
            return False, error.message
        if output.rc != 0 or len(output.answers) != 1:
            return False, f"the program in pod {self.namespace}/{POD} ended with code {output.rc}: {output.said}"
        answer = json.loads(output.answers[0])
        if "error" in answer:
            return False, answer["error"]
        return bool(answer["added"] or answer["removed"]), ""
