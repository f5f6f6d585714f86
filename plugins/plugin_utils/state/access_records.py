# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Access records of the ledger: client certificates, denials, revoked certificates. Pure.

Part of a site's record (see C(records))::

    {"access": {"state": "denied", "since": "2026-11-21T10:00:00+00:00", "reason": "audit"},
     "client": {"serial": "5a…", "fingerprint": "SHA256:…", "not_after": "…", "key": "SHA256:…", "certificate": "PEM"},
     "superseded": [{"serial": "4b…", "until": "…"}],
     "revoked": [{"serial": "3c…", "since": "…", "until": "…"}]}

C(access) is there for denied sites only. Where a run or a drill denies a site for a time, it also has C(holder), the name of what does; the
denial of a person has none. C(key) is the fingerprint of the certificate's public key. C(superseded) are
certificates of a key that the site no longer has; they are revoked as soon as the site has its new one. C(client) also has C(earlier), in the
same form, where certificates before it were issued for the same key and have not expired: who has the key can use any of them. C(until) is
the expiry of the certificate; records of earlier releases do not have it.

Part of the book (see C(ranges)), for sites that left::

    {"denied": {"site-b": {"state": "denied", …}}, "revoked": [{"serial": "2d…", "since": "…", "until": "…", "site": "site-b"}]}
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.formats import moment
from .partition_numbers import Book
from .records import Record, serial_of

DENIED = "denied"
ADMITTED = "admitted"
_NEVER = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)


def deny(record: Mapping[str, Any], reason: str, now: str, holder: str = "") -> Record:
    """The record of a site that is denied from C(now) on; one that is denied already keeps its date.

    Args:
        reason: for people; an empty one leaves the reason that a person gave.
        now: ISO 8601.
        holder: what denies it for a time, such as a run; it leaves every other denial as it is. Empty for a person, whose denial replaces that
            of a holder, so that the holder's end does not admit the site.
    """
    new = copy.deepcopy(dict(record))
    old = new.get("access")
    if old and holder:
        return new
    given = old["reason"] if old and not old.get("holder") else ""
    since = old["since"] if old else now
    new["access"] = {"state": DENIED, "since": since, "reason": reason or given, **({"holder": holder} if holder else {})}
    return new


def returning(record: Mapping[str, Any], denial: Mapping[str, Any]) -> Record:
    """The record of a site that left while it was denied and joins again: it stays denied until someone admits it."""
    return {**copy.deepcopy(dict(record)), "access": dict(record.get("access") or denial)}


def admit(record: Mapping[str, Any], holder: str = "") -> Record:
    """The record of a site that is no longer denied.

    Args:
        holder: whose denial ends; that of others stays. Empty for any.
    """
    new = copy.deepcopy(dict(record))
    if _ends(new.get("access") or {}, holder):
        new.pop("access", None)
    return new


def _ends(denial: Mapping[str, Any], holder: str) -> bool:
    return not holder or denial.get("holder") == holder


def admit_absent(book: Mapping[str, Any], site: str, holder: str = "") -> Book:
    """The book without the denial of a site that left while it was denied; C(holder) as in C(admit)."""
    denials = book.get("denied", {})
    kept = {name: denial for name, denial in denials.items() if name != site or not _ends(denial, holder)}
    return {**{part: value for part, value in book.items() if part != "denied"}, **({"denied": kept} if kept else {})}


def deny_absent(book: Mapping[str, Any], site: str, reason: str, now: str, holder: str = "") -> Book:
    """The book with the denial of a site that has no record, see C(deny)."""
    denials = book.get("denied", {})
    return {**book, "denied": {**denials, site: deny({"access": denials.get(site)}, reason, now, holder)["access"]}}


def denied(book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Site -> its denial, of all sites that are denied, including those that left."""
    return dict(sorted({**book.get("denied", {}), **{site: record["access"] for site, record in records.items() if record.get("access")}}.items()))


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """The sites whose denials in two versions of the book differ."""
    one, other = old.get("denied", {}), new.get("denied", {})
    return {site for site in {*one, *other} if one.get(site) != other.get(site)}


def sites_denied_by(denials: Mapping[str, Mapping[str, Any]], holder: str) -> list[str]:
    """The sites that a holder denies for a time."""
    return [site for site, denial in denials.items() if holder and denial.get("holder") == holder]


def denied_by_others(denials: Mapping[str, Mapping[str, Any]], holder: str) -> dict[str, str]:
    """Site -> the reason, of all sites that another holder denies for a time."""
    return {site: str(denial["reason"]) for site, denial in denials.items() if denial.get("holder", holder) != holder}


@dataclass(frozen=True)
class Present:
    """What decides whether a revocation still matters.

    Attributes:
        now: the present.
        ca_since: when the current client CA was created. What was revoked before was issued by a CA that is not trusted any more.
    """

    now: datetime.datetime
    ca_since: datetime.datetime


def matters(entry: Mapping[str, Any], present: Present) -> bool:
    """Whether the gateway would accept a certificate if it were not revoked: it has not expired, and its CA is the current one."""
    until, since = moment(entry.get("until")), moment(entry.get("since"))
    # An entry whose date cannot be read stays.
    return (until is None or until > present.now) and (since is None or since >= present.ca_since)


def revoked(
    book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], present: Present | None = None
) -> dict[str, str]:
    """Serial (hex) -> since when (ISO 8601), of all certificates that were taken back; with C(present), of those that matter."""
    entries = [*book.get("revoked", []), *(entry for record in records.values() for entry in record.get("revoked", []))]
    return {entry["serial"]: entry["since"] for entry in entries if present is None or matters(entry, present)}


def pruned(holder: Mapping[str, Any], present: Present) -> dict[str, Any]:
    """The book or a record without revocations that no longer matter."""
    kept = [entry for entry in holder.get("revoked", []) if matters(entry, present)]
    new = {name: value for name, value in holder.items() if name != "revoked"}
    return {**new, "revoked": kept} if kept else new


@dataclass(frozen=True)
class MissingInLedger:
    """What the gateway's files have and the ledger lacks, because its ConfigMap was lost.

    Attributes:
        denied: names of denied sites.
        revoked: serial -> since when.
    """

    denied: tuple[str, ...] = ()
    revoked: Mapping[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.denied or self.revoked)


def missing_in_ledger(
    book: Mapping[str, Any],
    records: Mapping[str, Mapping[str, Any]],
    *,
    denied_sites: Iterable[str],
    serials: Mapping[str, str],
    present: Present,
) -> MissingInLedger:
    """Compare the ledger with the gateway's files, which are written after it and so never have more.

    Args:
        denied_sites: names in the gateway's list of denied sites.
        serials: serial -> since when, of the gateway's list of revoked certificates.
    """
    refused = tuple(site for site in denied_sites if site not in records and site not in book.get("denied", {}))
    known = revoked(book, records)
    return MissingInLedger(refused, {serial: since for serial, since in serials.items() if serial not in known and matters({"since": since}, present)})


def restored(book: Mapping[str, Any], found: MissingInLedger, now: str) -> Book:
    """The book with what was lost.

    Args:
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(book))
    for site in found.denied:
        reason = "restored from the gateway's files, since the ledger had lost it"
        new.setdefault("denied", {}).setdefault(site, {"state": DENIED, "since": now, "reason": reason})
    _add(new, [{"serial": serial, "since": since} for serial, since in (found.revoked or {}).items()])
    return new


def _add(book: dict[str, Any], entries: Iterable[Mapping[str, Any]]) -> None:
    """Add revocations that the book, or a record, does not have."""
    known = {entry["serial"] for entry in book.get("revoked", [])}
    more = [dict(entry) for entry in entries if entry["serial"] not in known]
    if more:
        book.setdefault("revoked", []).extend(more)


def with_client(
    record: Mapping[str, Any], client: Mapping[str, Any], *, new_key: bool, now: datetime.datetime | None = None
) -> Record:
    """The record with a new client certificate.

    Args:
        client: C(serial), C(fingerprint), C(not_after), C(key) and C(certificate) of the new one.
        new_key: whether the old ones belong to a key that the site no longer has, and so must be revoked.
        now: the present; those that have expired are not remembered. None to remember all.
    """
    new = copy.deepcopy(dict(record))
    old = _of_key(new)
    new["client"] = dict(client)
    if new_key and old:
        new["superseded"] = [*new.get("superseded", []), *old]
    elif earlier := [one for one in old if now is None or (moment(one.get("until")) or _NEVER) > now]:
        new["client"]["earlier"] = earlier
    return new


def _of_key(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """All certificates that were issued for the key that a site has now."""
    client = record.get("client")
    if not client:
        return []
    return [*client.get("earlier", []), {"serial": client["serial"], **({"until": client["not_after"]} if client.get("not_after") else {})}]


def revoke_superseded(record: Mapping[str, Any], now: str) -> Record:
    """The record with its superseded certificates revoked."""
    new = copy.deepcopy(dict(record))
    superseded = new.pop("superseded", [])
    if superseded:
        _add(new, [_revocation(one, now) for one in superseded])
    return new


def _revocation(superseded: str | Mapping[str, Any], now: str) -> dict[str, Any]:
    until = {} if isinstance(superseded, str) else {name: superseded[name] for name in ("until",) if name in superseded}
    return {"serial": serial_of(superseded), "since": now, **until}


def with_revoked_sites(book: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], now: str) -> Book:
    """The book after some sites left: their certificates are revoked permanently, and denied sites stay denied.

    Args:
        records: the records of the sites that leave.
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(book))
    gone: list[dict[str, Any]] = []
    for site, record in records.items():
        earlier = [*record.get("superseded", []), *_of_key(record)]
        entries = [*record.get("revoked", []), *(_revocation(one, now) for one in earlier)]
        gone += [{**entry, "site": site} for entry in entries]
        if record.get("access"):
            new.setdefault("denied", {})[site] = record["access"]
    _add(new, gone)
    return new


def certificate_facts(record: Mapping[str, Any], change: str) -> list[dict[str, str]]:
    """The audit facts of a site's client certificate; empty when there is none."""
    client = record.get("client")
    facts = ("serial", "fingerprint", "not_after")
    return [{"change": change, **{name: client[name] for name in facts}}] if client else []


def owners(records: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Public line of every SuperNode key -> the site that has it, without keys that two sites claim.

    A claim without a registration does not affect other sites.
    """
    found: dict[str, set[str]] = {}
    registered: dict[str, set[str]] = {}
    for site, record in records.items():
        for key in record["keys"].values():
            found.setdefault(key["public_key"], set()).add(site)
            if key["node_id"]:
                registered.setdefault(key["public_key"], set()).add(site)
    chosen = {line: registered.get(line) or sites for line, sites in found.items()}
    return {line: min(sites) for line, sites in chosen.items() if len(sites) == 1}


def known_keys(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of all keys of a site, that of its client certificate included."""
    return [*record.get("keys", {}), *([record["client"]["key"]] if record.get("client") else [])]
