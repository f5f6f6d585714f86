# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state before a rotation, and what follows from it for several targets. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..base.object_names import GATEWAY_SECRET
from ..hub.handover import trusted
from ..hub.sources.interface import BUILTIN
from ..pki import certificates, chain
from . import machine
from .ca_state import IDLE, State


@dataclass(frozen=True)
class RotationInputs:
    """The state before a rotation.

    Attributes:
        now: the current time.
        source: the source of the gateway's certificate.
        handed_in: the CA, if it comes from variables.
        secret: name of the Secret with the gateway's certificate.
        leaf: its decoded entries.
        names: what it must cover.
        state: the CA; None where it is not ours.
        facts: facts for the state machine.
        records: site -> its record in the ledger, of those that this run reaches: nothing is replaced at others, such as one that has left.
        renew_before: how long before its expiry the gateway's certificate is due; None for half of its lifetime.
        ca_renew_before: the same for the CA.
        internal: whether a rotation of shared secrets was started.
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


def handing_over(inputs: RotationInputs) -> str | None:
    """Why no certificate of ours can be served yet, since the gateway keeps the certificate of a previous source (C(hub.handover))."""
    if inputs.source != BUILTIN or ca_begun(inputs):
        return None
    if inputs.secret != GATEWAY_SECRET:
        why = f"the gateway still serves Secret {inputs.secret}, of another source"
    elif signer(inputs) and trusted(inputs.leaf.get("tls.crt", ""), inputs.facts.published, inputs.now) and not has_own_leaf(inputs):
        why = f"the gateway still serves a certificate of a previous CA in Secret {inputs.secret}"
    else:
        return None
    return f"{why}: run site.yml, which serves one of the current CA as soon as it is in the CA bundle of the sites"


def signer(inputs: RotationInputs) -> certificates.Issued | None:
    """The CA that signs; None where it is not ours."""
    return inputs.handed_in or (inputs.state.authority.current if inputs.state else None)


def has_own_leaf(inputs: RotationInputs) -> bool:
    """Whether the gateway's certificate was issued by the CA that signs."""
    ca = signer(inputs)
    return ca is not None and chain.signed_by(inputs.leaf.get("tls.crt", ""), ca.certificate)


def cannot_sign(inputs: RotationInputs) -> str | None:
    """Why the CA is unusable, or None."""
    if inputs.state is None:
        return None
    if not inputs.facts.current_good:
        return "the CA has expired"
    return None if inputs.state.authority.current.key else "the key of the CA is lost"


def ca_begun(inputs: RotationInputs) -> str | None:
    """That a rotation of the CA was started and is not complete, or None."""
    state = inputs.state
    if state is None or state.phase == IDLE:
        return None
    since = f" on {state.started.isoformat(timespec='seconds')}" if state.started else ""
    return f"it was started{since} and is {state.phase}"
