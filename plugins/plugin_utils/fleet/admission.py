# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deny sites, or admit them again: ledger first, then the gateway's files, then the running gateway."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import HAPROXY_RUN_DIR, SUPERLINK, SUPERLINK_POD
from ..flower import in_pod
from ..kube.client import Cluster
from ..manifests import gateway
from ..programs import access_program
from ..rotation import clients
from ..rotation.client_store import ClientStore
from ..state import access_records
from ..state.ledger import Ledger
from ..state.partition_numbers import Book
from ..state.records import Record


@dataclass
class Admitted:
    """Outcome of a change.

    Attributes:
        changed: whether anything differed.
        denials: site -> its denial as it is now; empty for a site that is admitted. All sites that were asked for.
        sites: those whose access differed.
        diff: entries for C(--diff).
        objects: the result for each object, in the format of C(apply).
        warnings: sentences.
    """

    changed: bool
    denials: dict[str, dict[str, Any]]
    sites: Sequence[str] = ()
    diff: list[dict[str, str]] = field(default_factory=list)
    objects: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Admission:
    """Who is admitted to a hub. C(note) records a change for the audit trail."""

    def __init__(self, hub: Cluster, namespace: str, federation: str, note: Callable[..., None], *, check: bool = False) -> None:
        self.hub, self.namespace, self.note, self.check = hub, namespace, note, check
        self.ledger = Ledger(hub, namespace, federation, check=check)

    def change(self, sites: Sequence[str] | None, state: str, reason: str = "", holder: str = "") -> Admitted:
        """Change it for some sites. A denial holds even if this is interrupted.

        Args:
            sites: inventory names; None for all sites that C(holder) denies.
            state: C(access_records.DENIED) or C(access_records.ADMITTED).
            reason: for people.
            holder: what denies them for a time, see C(access_records.deny).

        Raises:
            ClusterError: a site is not known, a denial would have no effect, another holder denies sites for a time, or the running gateway
                could not be updated. Nothing is changed but in the last case.
        """
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()
        denying = state == access_records.DENIED
        book, (records, unreadable) = self.ledger.read_book(), self.ledger.read_sites()
        denials = access_records.denied(book, records)
        if sites is None:
            sites = access_records.sites_denied_by(denials, holder)
        asked = self._asked()
        if denying and holder:
            _refuse_others(denials, holder)
        warnings = self._check(sites, denying, denials, asked, {**unreadable, **records})
        if not sites:
            return Admitted(False, {})

        def change_record(old: Mapping[str, Any]) -> Record:
            return access_records.deny(old, reason, now, holder) if denying else access_records.admit(old, holder)

        def change_book(new: Book) -> Book:
            """The book has the denials of sites whose record is not there or cannot be read."""
            for site in sites:
                if not denying:
                    new = access_records.admit_absent(new, site, holder)
                elif site in unreadable:
                    new = access_records.deny_absent(new, site, reason, now, holder)
            return new

        changed = self.ledger.change_book(change_book)
        in_book = access_records.differing(book, change_book(book))
        different = []
        for site in sites:
            if (site in records and self.ledger.change_record(site, change_record)) or site in in_book:
                different.append(site)
                self.note(site, access=[{"change": state, "reason": reason}])
        changed |= bool(different)
        expected = change_book(book), {name: change_record(it) if name in sites else it for name, it in records.items()}
        found = access_records.denied(*expected)
        store = ClientStore(self.hub, self.namespace, self.ledger, note=self.note, check=self.check)
        changed |= store.publish(foreseen=expected if self.check else None, admitted=[site for site in sites if site not in found])
        reported, trouble = False, ""
        if asked != "none" and not self.check:
            reported, trouble = self._update_gateway(clients.denied_sites(store.read()))
        if store.diff:
            store.load_now()
        if trouble:
            raise ClusterError(
                f"{', '.join(sites)}: {state} in the ledger and in the gateway's files, which it loads within two minutes, but "
                f"the running gateway could not be updated at once: {trouble}. Run again."
            )
        return Admitted(changed or reported, {site: found.get(site, {}) for site in sites}, different, store.diff, store.objects, warnings)

    def _check(
        self, sites: Sequence[str], denying: bool, denials: Mapping[str, Mapping[str, Any]], asked: str, records: Mapping[str, Any]
    ) -> list[str]:
        """Refuse what is not known and what would have no effect; warn of denials that can be bypassed.

        Args:
            sites: inventory names.
            denying: whether they are denied.
            denials: site -> its denial.
            asked: whether the gateway asks for client certificates.
            records: site -> its record, or why it cannot be read.
        """
        faults, warnings = [], []
        for site in sites:
            record = records.get(site)
            if record is None and (denying or site not in denials):
                known = ", ".join(sorted(records)) or "none"
                faults.append(f"site: the ledger on {self.hub.name} has no site '{site}'. It has: {known}. Use the inventory name.")
            elif not denying and isinstance(record, str):
                faults.append(record)
            elif denying and asked == "none":
                faults.append(
                    f"the gateway on {self.hub.name} does not request client certificates, so it cannot distinguish {site} from other sites: set "
                    "superlink_client_certificates to required (flower_mtls to true) and run federated.flower.site."
                )
            # A site without keys has nothing that could pass. The denial is by its name, which its first certificate has.
            elif denying and isinstance(record, Mapping) and record["keys"] and not record.get("client"):
                faults.append(
                    f"{site} has no client certificate, so the gateway cannot distinguish it from other sites: set supernode_mtls to true "
                    "for it and run federated.flower.site."
                )
            elif denying and asked == "optional":
                warnings.append(
                    f"superlink_client_certificates is optional: {site} is refused as long as it presents its "
                    "certificate, and can omit it. Set it to required."
                )
        if faults:
            raise ClusterError("; ".join(faults))
        return warnings

    def _asked(self) -> str:
        """Whether the gateway asks for client certificates."""
        config = self.hub.get("v1", "ConfigMap", gateway.CONFIG, self.namespace)
        if config is None:
            raise ClusterError(f"there is no gateway in namespace {self.namespace} on {self.hub.name}: deploy the hub first.")
        return gateway.asked_by(config["data"]["haproxy.cfg"])

    def _update_gateway(self, wanted: list[str]) -> tuple[bool, str]:
        """Update the list of denied sites of the running gateway; returns whether it differed, and the error."""
        pod = self.hub.get("v1", "Pod", SUPERLINK_POD, self.namespace)
        if pod is None or pod.get("status", {}).get("phase") == "Pending":
            return False, ""  # it reads its files when it starts
        request = {"socket": f"{HAPROXY_RUN_DIR}/admin.sock", "list": gateway.DENIED, "wanted": wanted}
        try:
            answer = in_pod.run(self.hub, self.namespace, SUPERLINK_POD, SUPERLINK, access_program, request, seconds=30).object()
        except ClusterError as error:
            return False, error.message
        if "error" in answer:
            return False, answer["error"]
        return bool(answer["added"] or answer["removed"]), ""


def _refuse_others(denials: Mapping[str, Mapping[str, Any]], holder: str) -> None:
    """Do not meddle with the denials of another holder."""
    others = access_records.denied_by_others(denials, holder)
    if others:
        names = ", ".join(f"{site} ({why})" for site, why in others.items())
        raise ClusterError(
            f"other runs or drills deny sites temporarily: {names}. Wait until they end. If they have ended, for example because their playbook was "
            f"killed, admit these sites: federated.flower.site_access -e '{json.dumps({'flower_site': list(others), 'flower_access': 'admitted'})}'"
        )
