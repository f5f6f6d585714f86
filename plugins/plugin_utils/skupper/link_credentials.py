# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates of links: who issued them, when they end, whom they trust. Pure.

Skupper renews nothing before its end, never looks at who signed a certificate, and tells nowhere when one ends. So what is in
the Secrets is looked at here. Everything lasts five years (Skupper 2.2).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from ..pki import certificates, chain

Entries = Mapping[str, str]


def describe(pem: str) -> dict[str, Any]:
    """Public facts of a certificate: C(subject), C(serial), C(not_before), C(not_after), C(fingerprint); empty for none."""
    if not certificates.split(pem):
        return {}
    found = certificates.describe(certificates.first(pem))
    return {key: found[key] for key in ("subject", "serial", "not_before", "not_after", "fingerprint")}


def due(pem: str, now: datetime.datetime, renew_before: datetime.timedelta | None = None) -> str:
    """Why a certificate is to be renewed; empty when there is time.

    Args:
        pem: the certificate.
        now: the time to judge by.
        renew_before: how long before its end; half of its lifetime by default.
    """
    leaf = chain.read(pem)[0]
    start, end = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now >= end:
        return f"it ended on {end.isoformat()}"
    left = (end - start) / 2 if renew_before is None else renew_before
    return f"it ends on {end.isoformat()}" if now >= end - left else ""


def issued_by(pem: str, authorities: str) -> bool:
    """Whether one of the CAs in a PEM text has signed a certificate."""
    leaf = chain.read(pem)[0]
    return any(
        certificates.not_issued_by(leaf, ca) is None for ca in (chain.read(authorities) if authorities.strip() else ())
    )


def bundle(*texts: str) -> str:
    """All certificates of some PEM texts, each once, in their order."""
    return "".join(dict.fromkeys(part for text in texts for part in certificates.split(text)))


def same_authorities(one: str, other: str) -> bool:
    """Whether two PEM texts hold the same certificates."""
    return set(certificates.split(one)) == set(certificates.split(other))


def link_fault(entries: Entries, ca: str, subject: str, now: datetime.datetime, renew_before: Any = None) -> str:
    """Why the hub's Secret for a link has to be made anew; empty when it is good.

    Args:
        entries: its decoded entries.
        ca: the present CA of the hub's Site, PEM; empty when it is not known.
        subject: the site.
        now: the time to judge by.
        renew_before: see C(due).
    """
    try:
        leaf = chain.read(entries.get("tls.crt", ""))[0]
        chain.check_key(leaf, entries.get("tls.key", ""))
    except chain.ChainError as error:
        return f"its certificate or key {error}"
    if ca and not issued_by(entries["tls.crt"], ca):
        return "the hub's Site has another CA now"
    if f"CN={subject}" not in certificates.describe(entries["tls.crt"])["subject"].split(","):
        return "it belongs to another site"
    return due(entries["tls.crt"], now, renew_before)


def trust(credential_ca: str, server: Entries) -> str:
    """Whom a site's router has to trust: the CA of its own certificate, and all that the hub's router shows or trusts.

    While the hub's CA is changed, these are two. In the end they are one again.

    Args:
        credential_ca: C(ca.crt) beside the site's certificate.
        server: decoded entries of the hub's server Secret.
    """
    others = server.get("ca.crt", "")
    if not others or same_authorities(others, credential_ca):
        return credential_ca
    return bundle(credential_ca, others)


def ending(found: Iterable[Mapping[str, Any]], now: datetime.datetime, within: datetime.timedelta) -> list[str]:
    """Sentences on certificates that end soon, or have ended.

    Args:
        found: public facts with C(what).
        now: the time to judge by.
        within: how soon.
    """
    told = []
    for one in found:
        if not one.get("not_after"):
            continue
        end = datetime.datetime.fromisoformat(one["not_after"])
        if end <= now:
            told.append(f"{one['what']} ended on {one['not_after']}")
        elif end - now <= within:
            told.append(f"{one['what']} ends on {one['not_after']}")
    return told
