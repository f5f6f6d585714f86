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
from ..pki import certificates
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
    certificate = found.get("tls.crt")
    if not certificate or not any(signed(certificate, ca) for ca in certificates.split(ours)):
        return needed
    return list(dict.fromkeys([*certificates.describe(certificate)["names"], *needed]))


def next_names(names: Sequence[str]) -> list[str]:
    """The names under which the certificate of the next CA is tested."""
    return [next_server_name(name) for name in names if not is_ip(name) and not name.startswith("*")]


def issue(
    ca: certificates.Issued, names: Sequence[str], lifetime: datetime.timedelta, begin: datetime.timedelta | None = None
) -> dict[str, str]:
    """A new certificate for the gateway, as entries of its Secret; C(begin): from now until it becomes valid."""
    return entries_of(certificates.issue(ca, SUBJECT, list(names), lifetime, begin), ca)


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
    certificate = found.get("tls.crt", "")
    if not certificate or not found.get("tls.key"):
        return machine.Leaf(served=served)
    facts = certificates.describe(certificate)
    issuer = machine.BY_OTHER
    if state is None or signed(certificate, state.authority.current.certificate):
        issuer = machine.BY_CURRENT
    elif state.authority.next and signed(certificate, state.authority.next.certificate):
        issuer = machine.BY_NEXT
    good = not over(facts, now) and set(names) <= set(facts["names"])
    return machine.Leaf(facts["serial"], issuer, good, served)


def signed(certificate: str, ca: str) -> bool:
    """Whether a CA signed a certificate, at any date."""
    young = datetime.datetime.fromisoformat(certificates.describe(certificate)["not_before"])
    return certificates.reissue_reason(certificate, ca, [], young) is None


def over(facts: Mapping[str, Any], now: datetime.datetime) -> bool:
    """Whether a certificate, as described by C(pki.describe), has expired."""
    return now >= datetime.datetime.fromisoformat(facts["not_after"])
