# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cross-checks of the certificate that the gateway will serve, from any source, before anything is changed. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..pki import chain
from ..pki.chain import ChainError
from .sources.interface import Plan

if TYPE_CHECKING:
    from cryptography import x509


def faults(
    plan: Plan, needed: Mapping[str, str], clocks: Mapping[str, datetime.datetime], name_variable: str = "flower_server_name"
) -> list[str]:
    """Why sites would refuse the certificate of a plan; empty when they would not, or when it is not there yet.

    Args:
        plan: a source's plan without faults.
        needed: names that sites verify -> who verifies them (C(names.needed)).
        clocks: whose clock -> what it shows.
        name_variable: the variable that decides which name sites verify.

    Returns:
        Sentences with the variable or Secret, the value and the remedy, without parts of keys.
    """
    if not plan.certificate:
        return []
    try:
        served = chain.read(plan.certificate)
    except ChainError as error:
        return [f"{plan.where} {error}; put the certificate there, and its chain behind it"]
    found = []
    try:
        chain.check_key(served[0], plan.key)
    except ChainError as error:
        found.append(f"{plan.key_where} {error}; use the private key with which {plan.where} was requested")
    dns, addresses = chain.names(served[0])
    for name, who in needed.items():
        if not chain.covers(served[0], name):
            found.append(
                f"{plan.where} does not cover {name}, against which it is verified by {who}; it covers "
                f"{', '.join([*dns, *addresses]) or 'no name at all'}. Have it issued with {name} as a subject alternative "
                f"name, or set {name_variable} to one of its DNS names, which sites then verify"
            )
    try:
        trusted = chain.read(plan.trust)
    except ChainError as error:
        return [*found, f"{plan.trust_where} {error}; set it to the root CA that sites must trust"]
    try:
        way = chain.path(served, trusted)
    except ChainError as error:
        found.append(
            f"{plan.where}: its chain {error}. Trusted are {', '.join(map(chain.subject, trusted))} ({plan.trust_where}). Put "
            f"missing intermediates behind the certificate, and its root into {plan.trust_where}"
        )
        way = served[:1]
    checks: tuple[Callable[[], None], ...] = (lambda: chain.check_use(way), lambda: chain.check_times(way, clocks))
    for check in checks:
        try:
            check()
        except ChainError as error:
            found.append(f"{plan.where}: {error}; renew or reissue it, and correct wrong clocks")
    return found


def warnings(plan: Plan, now: datetime.datetime) -> list[str]:
    """Sentences on a certificate without faults, or a CA of its chain, that is not being renewed: a third of its lifetime or 30 days are left."""
    if not plan.certificate:
        return []
    leaf, *cas = chain.path(chain.read(plan.certificate), chain.read(plan.trust))
    found = []
    if _ends_soon(leaf, now):
        found.append(f"{plan.where} expires on {leaf.not_valid_after_utc.isoformat()}, and it has not been renewed")
    # Certificates that a CA issues are renewed until its last day, and none is accepted after that.
    return found + [
        f"{plan.where} is of the CA {chain.subject(ca)}, which expires on {ca.not_valid_after_utc.isoformat()}: no site connects after that. Change "
        "to a new CA before; sites must trust both for some time"
        for ca in cas
        if _ends_soon(ca, now)
    ]


def _ends_soon(certificate: x509.Certificate, now: datetime.datetime) -> bool:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return end - now <= min((end - start) / 3, datetime.timedelta(days=30))
