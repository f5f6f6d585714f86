# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whom the gateway admits: the CA of the sites' client certificates, and the files by which it checks them. Pure but for
randomness and the present time.

The CA is always the collection's own, with any issuer of the gateway's server certificate. Sites create their keys
themselves; the hub signs requests. One certificate per site: CN is the site's inventory name, O the federation.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import record_labels
from ..base.object_names import CA_NAMESPACE_ANNOTATION, CLIENT_CA_SECRET, CLIENTS_CONFIG
from ..base.secret_data import entries
from ..pki import certificates as pki
from ..pki import chain, keypairs
from ..state import access_records, partition_numbers
from ..state.ledger import NOTE
from ..state.records import Record
from . import clocks

CONFIG = CLIENTS_CONFIG  # the ConfigMap
CA = CLIENT_CA_SECRET
# Settings of the hub that other plays need, as annotations of the ConfigMap.
DAYS = "federated.flower/client-certificate-days"
# Bytes that the API server takes in one ConfigMap (apimachinery, C(validation.ValidateConfigMap)), and the part of it that is kept
# for denials: there is always space for denials, even when the rest is full.
FULL = 1024 * 1024
RESERVE = 64 * 1024
_SERIAL_BYTES, _KEY_BYTES = 53, 80  # of one entry, about, for messages


@dataclass(frozen=True)
class Settings:
    """Settings of the hub. C(days): lifetime of a client certificate."""

    federation: str
    namespace: str
    ca_namespace: str
    days: int


def client_ca_of(live: Mapping[str, Any] | None) -> pki.Issued | None:
    """The CA in a live Secret; None when there is none.

    Raises:
        ClusterError: it is there, and someone has damaged it.
    """
    if live is None:
        return None
    there = {"tls.crt": "", "tls.key": "", **entries(live)}
    if unusable := chain.unusable(there["tls.crt"], there["tls.key"]):
        place = "{namespace}/{name}".format_map(live["metadata"])
        raise ClusterError(
            f"the CA of the client certificates, Secret {place}: {unusable}. Restore it from a backup; or delete it and run "
            "federated.flower.site for the whole fleet: it creates a new one, and all sites get new certificates."
        )
    return pki.Issued(there["tls.crt"], there["tls.key"])


def placeholder_ca() -> pki.Issued:
    """A CA in the place of one that is created together with the hub, for check mode."""
    return pki.make_ca("created together with the hub", datetime.timedelta(days=1))


def settings_of(live: Mapping[str, Any]) -> Settings:
    """Settings of the hub, from its live ConfigMap."""
    metadata = live["metadata"]
    notes = metadata.get("annotations") or {}
    federation = metadata["labels"]["app.kubernetes.io/instance"]
    return Settings(federation, metadata["namespace"], notes[CA_NAMESPACE_ANNOTATION], int(notes[DAYS]))


@dataclass(frozen=True)
class Known:
    """Content of the ledger.

    Attributes:
        unreadable: sites whose record cannot be read. Their entries at the gateway stay as they are.
    """

    book: Mapping[str, Any]
    records: Mapping[str, Record]
    unreadable: Collection[str] = ()
    now: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.timezone.utc))

    def present(self, certificate: str) -> access_records.Present:
        """What decides which revocations matter. C(certificate): the CA's."""
        return access_records.Present(self.now, pki.made_at(certificate))


def missing_in_ledger(live: Mapping[str, Any] | None, known: Known) -> access_records.MissingInLedger:
    """Entries that the live ConfigMap has and the ledger has lost."""
    data = (live or {}).get("data") or {}
    if not data.get("ca.crt"):
        return access_records.MissingInLedger()
    return access_records.missing_in_ledger(
        known.book,
        {**dict.fromkeys(known.unreadable, {}), **known.records},
        denied_sites=denied_sites(live),
        serials=pki.crl_entries(data.get("crl.pem", ""), data["ca.crt"]) or {},
        present=known.present(data["ca.crt"]),
    )


def denied_sites(live: Mapping[str, Any] | None) -> list[str]:
    """Names of the sites that the live ConfigMap denies."""
    return _names(((live or {}).get("data") or {}).get("denied.lst", ""))


def _names(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def needs_ca(live: Mapping[str, Any] | None, known: Known) -> bool:
    """Whether the revocation list must be signed again, which needs the CA's key."""
    data = (live or {}).get("data") or {}
    if "ca.crt" not in data:
        return True
    listed = pki.crl_entries(data.get("crl.pem", ""), data["ca.crt"])
    return listed is None or set(listed) != set(_revoked(data, known, data["ca.crt"]))


def _revoked(there: Mapping[str, str], known: Known, certificate: str) -> dict[str, str]:
    """Serial -> since when, of all certificates that the gateway must reject."""
    kept: dict[str, str] = {}
    if known.unreadable:
        kept = pki.crl_entries(there.get("crl.pem", ""), certificate) or {}
    return {**kept, **access_records.revoked(known.book, known.records, known.present(certificate))}


def config_map(settings: Settings, known: Known, live: Mapping[str, Any] | None, ca: pki.Issued | None = None) -> dict[str, Any]:
    """The ConfigMap C(superlink-clients), mounted in the gateway. It contains nothing secret.

    Its data: C(ca.crt), C(crl.pem) (signed again only when its serials differ), C(denied.lst) (names of sites) and
    C(keys.map) (digest of each SuperNode key, and its site).

    Args:
        live: the ConfigMap as it is.
        ca: the CA; not needed when C(needs_ca) is false.

    Raises:
        ValueError: it would be larger than a ConfigMap may be; the text says what fills it. A denial is written nevertheless.
    """
    there = (live or {}).get("data") or {}
    certificate = ca.certificate if ca else there["ca.crt"]
    wanted = _revoked(there, known, certificate)
    crl = there.get("crl.pem", "")
    listed = pki.crl_entries(crl, certificate)
    if listed is None or set(listed) != set(wanted):
        if ca is None:
            raise ValueError("the list of revoked certificates differs, but there is no CA to sign it with")
        crl = pki.make_crl(ca, {serial: datetime.datetime.fromisoformat(since) for serial, since in wanted.items()})
    denied = set(access_records.denied(known.book, known.records))
    denied |= set(denied_sites(live)) & set(known.unreadable)
    lines = {f"{keypairs.supernode_key_digest(line)} {site}" for line, site in access_records.owners(known.records).items()}
    lines |= {line for line in _names(there.get("keys.map", "")) if line.partition(" ")[2] in known.unreadable}
    data = {"ca.crt": certificate, "crl.pem": crl, **_lists(denied, lines)}
    noted = ((live or {}).get("metadata", {}).get("annotations") or {}).get(NOTE, "")
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": CONFIG,
            "namespace": settings.namespace,
            "labels": record_labels(settings.federation, "superlink", "clients"),
            # The identity of the hub is the ledger's; where the ledger has none, what is noted already or a new one, which the ledger takes over.
            "annotations": {
                CA_NAMESPACE_ANNOTATION: settings.ca_namespace,
                DAYS: str(settings.days),
                NOTE: str(partition_numbers.identified(known.book, noted)["id"]),
            },
        },
        "data": _fitting(data, there, denied, lines, wanted),
    }


def _lists(denied: Collection[str], lines: Collection[str]) -> dict[str, str]:
    return {
        "denied.lst": "\n".join(["# sites that get 503", *sorted(denied)]) + "\n",
        "keys.map": "\n".join(["# SuperNode keys, and who alone may use them", *sorted(lines)]) + "\n",
    }


def _fitting(
    data: dict[str, str], there: Mapping[str, str], denied: Collection[str], lines: Collection[str], wanted: Collection[str]
) -> dict[str, str]:
    """The data, or the part of it that fits into a ConfigMap."""
    if _size(data) <= FULL - RESERVE:
        return data
    # Keys of a denied site are not checked.
    data = {**data, **_lists(denied, [line for line in lines if line.partition(" ")[2] not in denied])}
    if _size(data) <= FULL - RESERVE:
        return data
    denial = {**there, "denied.lst": data["denied.lst"]}
    if data["denied.lst"] != there.get("denied.lst") and {"ca.crt", "crl.pem", "keys.map"} <= set(there):
        for part in (data, denial):
            if _size(part) <= FULL:
                return part
    raise ValueError(
        f"it would have {_size(data)} bytes, and a ConfigMap has up to {FULL}: {len(wanted)} revoked certificates that have not expired "
        f"(about {_SERIAL_BYTES} bytes each) and {len(lines)} SuperNode keys (about {_KEY_BYTES} each). Shorter client certificates "
        "(superlink_client_certificate_days) and a new client CA (delete its Secret, then run site.yml) reduce the first, and "
        "another federation for a part of the sites the second"
    )


def _size(data: Mapping[str, str]) -> int:
    return sum(len(value.encode()) for value in data.values())


def certify(
    record: Record, request: str, *, site: str, settings: Settings, ca_certificate: str, ca: Callable[[], pki.Issued]
) -> tuple[Record, str | None]:
    """Make sure that a site's record has a valid client certificate for the key of the site's request (PEM).

    C(ca) returns the present client CA with its key; it is called only when a certificate must be signed.

    Returns:
        The record, which is another one then, and why there is a new certificate, or None.

    Raises:
        ValueError: the request is of no use.
    """
    client = record.get("client")
    reason: str | None = "it did not exist"
    new_key = False
    if client:
        reason = pki.client_reissue_reason(client["certificate"], ca_certificate, request, site, settings.federation)
        reason = reason or clocks.not_valid_yet(client["certificate"])
        if reason is None and client["serial"] in {entry["serial"] for entry in record.get("revoked", [])}:
            reason = "it was revoked"
        if reason is None:
            return record, None
        new_key = pki.other_key(client["certificate"], request)
    certificate = pki.sign_client_request(ca(), request, site, settings.federation, datetime.timedelta(days=settings.days))
    facts = pki.describe(certificate)
    noted = {name: facts[name] for name in ("serial", "fingerprint", "not_after")}
    noted.update(key=pki.request_fingerprint(request), certificate=certificate)
    return access_records.with_client(record, noted, new_key=new_key, now=datetime.datetime.now(datetime.timezone.utc)), reason
