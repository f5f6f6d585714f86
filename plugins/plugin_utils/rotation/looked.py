# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What there is before anything is rotated, and what follows from it for several targets. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..hub.handover import trusted
from ..hub.sources.interface import BUILTIN
from ..manifests.gateway import SECRET
from ..pki import certificates
from . import gateway_certificates, machine
from .ca_state import IDLE, State


@dataclass(frozen=True)
class Looked:
    """What there is.

    Attributes:
        now: the present.
        source: where the gateway's certificate comes from.
        handed_in: the CA, if it comes from variables.
        secret: name of the Secret with the gateway's certificate.
        leaf: its decoded entries.
        names: what it has to cover.
        state: the CA; None where it is not ours.
        facts: what the machine knows.
        records: site -> its record in the ledger.
        renew_before: how long before its end the gateway's certificate is due; None for half of its lifetime.
        ca_renew_before: the same for the CA.
        internal: whether new shared secrets were begun.
    """

    now: datetime.datetime
    source: str
    handed_in: certificates.Issued | None
    secret: str
    leaf: Mapping[str, str]
    names: list[str]
    state: State | None
    facts: machine.Facts
    records: Mapping[str, Mapping[str, Any]]
    renew_before: datetime.timedelta | None = None
    ca_renew_before: datetime.timedelta | None = None
    internal: bool = False


def handing_over(looked: Looked) -> str | None:
    """Why nothing of ours can be served yet, since the gateway keeps the certificate of a former source (C(hub.handover))."""
    if looked.source != BUILTIN or ca_begun(looked):
        return None
    if looked.secret != SECRET:
        why = f"the gateway still serves Secret {looked.secret}, of another source"
    elif signer(looked) and trusted(looked.leaf["tls.crt"], looked.facts.published, looked.now) and not _own(looked):
        why = f"the gateway still serves a certificate of a former CA in Secret {looked.secret}"
    else:
        return None
    return f"{why}: run site.yml, which has one of the present CA served as soon as sites were told to trust it"


def signer(looked: Looked) -> certificates.Issued | None:
    """The CA that signs; None where it is not ours."""
    return looked.handed_in or (looked.state.authority.current if looked.state else None)


def _own(looked: Looked) -> bool:
    ca = signer(looked)
    return ca is not None and gateway_certificates.signed(looked.leaf["tls.crt"], ca.certificate)


def cannot_sign(looked: Looked) -> str | None:
    """Why the CA is of no use any more, or None."""
    if looked.state is None:
        return None
    if not looked.facts.current_good:
        return "the CA has ended"
    return None if looked.state.authority.current.key else "the key of the CA is lost"


def ca_begun(looked: Looked) -> str | None:
    """That a change of the CA was begun and is not over, or None."""
    state = looked.state
    if state is None or state.phase == IDLE:
        return None
    since = f" on {state.started.isoformat(timespec='seconds')}" if state.started else ""
    return f"it was begun{since} and is {state.phase}"
