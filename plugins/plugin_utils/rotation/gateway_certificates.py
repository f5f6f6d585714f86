# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's two certificates during a rotation: what is in their Secrets, and what is written. Pure but for randomness.

One is served to sites. The other is signed by the next CA and served under the name C(next.NAME) for every name of the
first, so that every site can test it with the name that it uses.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.addresses import is_ip
from ..base.certificate_names import certificate_names, next_server_name
from ..hub.made import entries_of
from ..hub.sources.builtin import SUBJECT
from ..pki import certificates, chain
from . import machine
from .ca_state import State


def needed_names(publication: Mapping[str, str]) -> list[str]:
    """Names without which sites do not reach the gateway, from what the hub publishes."""
    verified = [publication["server_name"], publication["address"]]
    found = certificate_names(verified)
    return [*found["dns"], *found["ip"]]


def names_of(found: Mapping[str, str], ours: str, publication: Mapping[str, str]) -> list[str]:
    """Names for the next certificate of the gateway: all of the current one, if it is ours, and those that are needed.

    Args:
        found: the decoded entries of its Secret.
        ours: certificates of CAs that are ours, PEM.
        publication: what the hub publishes.
    """
    needed = needed_names(publication)
    if not is_usable(found) or not any(chain.signed_by(found["tls.crt"], ca) for ca in certificates.split(ours)):
        return needed
    return list(dict.fromkeys([*names_in(found), *needed]))


def names_in(found: Mapping[str, str]) -> list[str]:
    """Names in the certificate of a Secret; none if it cannot be used."""
    return list(certificates.describe(found["tls.crt"])["names"]) if is_usable(found) else []


def is_usable(found: Mapping[str, str]) -> bool:
    """Whether a Secret has a certificate and its key. People may have changed a part of it."""
    return chain.unusable(found.get("tls.crt", ""), found.get("tls.key", "")) is None


def next_names(names: Sequence[str]) -> list[str]:
    """The names under which the certificate of the next CA is tested."""
    return [next_server_name(name) for name in names if not is_ip(name) and not name.startswith("*")]


def issue(ca: certificates.Issued, names: Sequence[str], lifetime: datetime.timedelta) -> dict[str, str]:
    """A new certificate for the gateway, as entries of its Secret."""
    return entries_of(certificates.issue(ca, SUBJECT, list(names), lifetime), ca)


def leaf(
    found: Mapping[str, str], state: State | None, names: Sequence[str], served: str, now: datetime.datetime
) -> machine.Leaf:
    """What the state machine needs of a certificate.

    Args:
        found: the decoded entries of its Secret; empty when there is none.
        state: the CA; None where it is not ours, so any signer is accepted.
        names: names that it must cover.
        served: serial that the gateway serves.
        now: the present.
    """
    if not is_usable(found):
        return machine.Leaf(served=served)
    certificate = found["tls.crt"]
    facts = certificates.describe(certificate)
    issuer = machine.BY_OTHER
    if state is None or chain.signed_by(certificate, state.authority.current.certificate):
        issuer = machine.BY_CURRENT
    elif state.authority.next and chain.signed_by(certificate, state.authority.next.certificate):
        issuer = machine.BY_NEXT
    good = not over(facts, now) and set(names) <= set(facts["names"])
    return machine.Leaf(facts["serial"], issuer, good, served)


def over(facts: Mapping[str, Any], now: datetime.datetime) -> bool:
    """Whether a certificate, as described by C(pki.describe), has expired."""
    return now >= datetime.datetime.fromisoformat(facts["not_after"])
