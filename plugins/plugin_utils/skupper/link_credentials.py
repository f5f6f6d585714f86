# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of links: issuer, expiry, trusted CAs. Pure.

Skupper renews nothing before its expiry, never checks the signer of a certificate, and does not report when one expires. So what is in
the Secrets is checked here. Everything is valid for five years (Skupper 2.2).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from ..pki import certificates, chain
from ..pki.unknown_kinds import explained

Entries = Mapping[str, str]


def describe(pem: str) -> dict[str, Any]:
    """Public facts of a certificate: C(subject), C(serial), C(not_before), C(not_after), C(fingerprint); empty for none.

    Raises:
        ClusterError: it has a part of an unknown kind.
        ValueError: it is broken.
    """
    if not certificates.split(pem):
        return {}
    with explained("a Secret of a Skupper link", "delete that Secret and its Link, and run federated.flower.site: both are recreated."):
        found = certificates.describe(certificates.first(pem))
    return {key: found[key] for key in ("subject", "serial", "not_before", "not_after", "fingerprint")}


def due(pem: str, now: datetime.datetime, renew_before: datetime.timedelta | None = None) -> str:
    """Why a certificate must be renewed; empty when it need not.

    Args:
        pem: the certificate; empty for none.
        renew_before: how long before its expiry; half of its lifetime by default.
    """
    if not pem:
        return ""
    leaf = chain.read(pem)[0]
    start, end = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now >= end:
        return f"it expired on {end.isoformat()}"
    left = (end - start) / 2 if renew_before is None else renew_before
    return f"it expires on {end.isoformat()}" if now >= end - left else ""


def issued_by(pem: str, authorities: str) -> bool:
    """Whether one of the CAs in a PEM text has signed a certificate."""
    leaf = chain.read(pem)[0]
    return any(certificates.not_issued_by(leaf, ca) is None for ca in (chain.read(authorities) if authorities.strip() else ()))


def bundle(*texts: str) -> str:
    """All certificates of some PEM texts, each once, in their order."""
    return "".join(dict.fromkeys(part for text in texts for part in certificates.split(text)))


def same_authorities(one: str, other: str) -> bool:
    """Whether two PEM texts have the same certificates."""
    return set(certificates.split(one)) == set(certificates.split(other))


def refuses(server: Entries, ca: str) -> bool:
    """Whether a router refuses certificates of a CA: it does not trust that CA, and does not serve a certificate of it either.

    Args:
        server: decoded entries of the Secret that it serves.
        ca: PEM.
    """
    trusted = certificates.split(server.get("ca.crt", ""))
    return certificates.first(ca) not in trusted and not issued_by(server["tls.crt"], ca)


def fault(entries: Entries, ca: str, now: datetime.datetime, renew_before: datetime.timedelta | None = None, subject: str = "") -> str:
    """Why the certificate of a link must be replaced; empty when it is valid.

    Args:
        entries: decoded entries of its Secret.
        ca: the CAs of which it must be, PEM; empty when they are not known.
        renew_before: see C(due).
        subject: the site to which it must belong; any by default.
    """
    try:
        leaf = chain.read(entries.get("tls.crt", ""))[0]
        chain.check_key(leaf, entries.get("tls.key", ""))
    except chain.ChainError as error:
        return f"its certificate or key {error}"
    if ca and not issued_by(entries["tls.crt"], ca):
        return "the hub's Site has another CA now"
    found = due(entries["tls.crt"], now, renew_before)
    if not found and subject and f"CN={subject}" not in certificates.describe(entries["tls.crt"])["subject"].split(","):
        return "it belongs to another site"
    return found


def trust(credential_ca: str, server: Entries) -> str:
    """CAs that a site's router must trust: those of C(credential_ca), PEM, and all that the hub's router serves or trusts.

    During a rotation of the hub's CA, these are two. Afterwards they are one again.

    Args:
        credential_ca: C(ca.crt) next to the site's certificate.
        server: decoded entries of the hub's server Secret.
    """
    others = server.get("ca.crt", "")
    return credential_ca if not others or same_authorities(others, credential_ca) else bundle(credential_ca, others)


def ending(found: Iterable[Mapping[str, Any]], now: datetime.datetime, within: datetime.timedelta) -> list[str]:
    """Sentences on certificates that expire soon, or have expired.

    Args:
        found: public facts with C(what).
        within: how soon.
    """
    reported = []
    for one in found:
        if end := one.get("not_after"):
            left = datetime.datetime.fromisoformat(end) - now
            if left <= within:
                reported.append(f"{one['what']} {'expires' if left > datetime.timedelta() else 'expired'} on {end}")
    return reported
