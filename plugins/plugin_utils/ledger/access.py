# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the ledger remembers of who may come in: client certificates, denials, certificates that were taken back. Pure.

Part of a site's record (see C(records))::

    {"access": {"state": "denied", "since": "2026-11-21T10:00:00+00:00", "reason": "audit"},
     "client": {"serial": "5a…", "fingerprint": "SHA256:…", "not_after": "…", "key": "SHA256:…", "certificate": "PEM"},
     "superseded": ["4b…"],
     "revoked": [{"serial": "3c…", "since": "…"}]}

C(access) is there for denied sites only. C(key) is the fingerprint of the certificate's public key. C(superseded) are
certificates of a key that the site no longer has; they are revoked as soon as the site has been given its new one.

Part of the book (see C(ranges)), for sites that left::

    {"denied": {"site-b": {"state": "denied", …}}, "revoked": [{"serial": "2d…", "since": "…", "site": "site-b"}]}
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from .ranges import Book
from .records import Record

DENIED = "denied"
ADMITTED = "admitted"
# Survives when another controller writes the record from an older copy.
LASTING = ("access", "revoked")


def deny(record: Mapping[str, Any], reason: str, now: str) -> Record:
    """The record of a site that is denied from C(now) on; one that is denied already keeps its date.

    Args:
        record: the site's record as read; not changed.
        reason: for people; an empty one leaves the reason that is there.
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(record))
    old = new.get("access") or {"state": DENIED, "since": now, "reason": ""}
    new["access"] = {**old, "reason": reason or old["reason"]}
    return new


def returning(record: Mapping[str, Any], denial: Mapping[str, Any]) -> Record:
    """The record of a site that left while it was denied and comes back: it stays denied until somebody admits it."""
    return {**copy.deepcopy(dict(record)), "access": dict(record.get("access") or denial)}


def admit(record: Mapping[str, Any]) -> Record:
    """The record of a site that is no longer denied."""
    return {key: value for key, value in copy.deepcopy(dict(record)).items() if key != "access"}


def admit_absent(book: Mapping[str, Any], site: str) -> Book:
    """The book without the denial of a site that left while it was denied."""
    new = copy.deepcopy(dict(book))
    if site in new.get("denied", {}):
        del new["denied"][site]
        if not new["denied"]:
            del new["denied"]
    return new


def denied(book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Site -> its denial, of all sites that are denied, those that left included."""
    found = {
        **book.get("denied", {}),
        **{site: record["access"] for site, record in records.items() if record.get("access")},
    }
    return {site: found[site] for site in sorted(found)}


def revoked(book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Serial (hex) -> since when (ISO 8601), of all certificates that were taken back."""
    entries = [*book.get("revoked", []), *(entry for record in records.values() for entry in record.get("revoked", []))]
    return {entry["serial"]: entry["since"] for entry in entries}


def with_client(record: Mapping[str, Any], client: Mapping[str, Any], *, new_key: bool) -> Record:
    """The record with a new client certificate.

    Args:
        record: the site's record as read; not changed.
        client: C(serial), C(fingerprint), C(not_after), C(key) and C(certificate) of the new one.
        new_key: whether the old one belongs to a key that the site no longer has, and so is to be revoked.
    """
    new = copy.deepcopy(dict(record))
    if new_key and new.get("client"):
        new["superseded"] = [*new.get("superseded", []), new["client"]["serial"]]
    new["client"] = dict(client)
    return new


def revoke_superseded(record: Mapping[str, Any], now: str) -> Record:
    """The record with its superseded certificates revoked."""
    new = copy.deepcopy(dict(record))
    serials = new.pop("superseded", [])
    if serials:
        new["revoked"] = [*new.get("revoked", []), *({"serial": serial, "since": now} for serial in serials)]
    return new


def leave(book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], now: str) -> Book:
    """The book after some sites left: their certificates are revoked for ever, and who was denied stays so.

    Args:
        book: the book as read; not changed.
        records: the records of the sites that leave.
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(book))
    for site, record in records.items():
        serials = [*record.get("superseded", []), *([record["client"]["serial"]] if record.get("client") else [])]
        gone = [*record.get("revoked", []), *({"serial": serial, "since": now} for serial in serials)]
        known = {entry["serial"] for entry in new.get("revoked", [])}
        gone = [{**entry, "site": site} for entry in gone if entry["serial"] not in known]
        if gone:
            new.setdefault("revoked", []).extend(gone)
        if record.get("access"):
            new.setdefault("denied", {})[site] = record["access"]
    return new


def certificate_facts(record: Mapping[str, Any], change: str) -> list[dict[str, str]]:
    """What the audit trail tells of a site's client certificate; empty when there is none."""
    client = record.get("client")
    facts = ("serial", "fingerprint", "not_after")
    return [{"change": change, **{name: client[name] for name in facts}}] if client else []


def owners(records: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Public line of every SuperNode key -> the site that holds it, without keys that two sites claim."""
    found: dict[str, set[str]] = {}
    for site, record in records.items():
        for key in record["keys"].values():
            found.setdefault(key["public_key"], set()).add(site)
    return {line: min(sites) for line, sites in found.items() if len(sites) == 1}


def known_keys(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of all keys of a site, that of its client certificate included."""
    return [*record.get("keys", {}), *([record["client"]["key"]] if record.get("client") else [])]
