# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to rotate: what was requested, what is due, what was started and is not complete. Pure.

leaf            the gateway's certificate. Nothing restarts
ca              the CA. With sidecars nothing restarts; without, SuperNodes do, twice
client          the sites' client certificates. Nothing restarts
supernode_keys  the SuperNodes' own keys: they are re-enrolled
superexec       shared secrets and internal certificates: the hub's pods and all SuperNodes restart
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..hub.handover import trusted
from ..hub.sources.interface import BUILTIN
from ..manifests.gateway import SECRET
from ..pki import certificates
from . import gateway_certificates, machine, source
from .ca_state import IDLE, State
from .machine import Site

DUE = "due"
LEAF, CA = source.LEAF, source.CA
CLIENT, SUPERNODE_KEYS, SUPEREXEC = "client", "supernode_keys", "superexec"
KINDS = (LEAF, CA, CLIENT, SUPERNODE_KEYS, SUPEREXEC)
CHOICES = (DUE, *KINDS)

ASKED = "it was requested"
UNSERVED = "it was issued, but the gateway does not serve it yet"


@dataclass(frozen=True)
class RotationInputs:
    """What there is.

    Attributes:
        now: the present.
        source: the source of the gateway's certificate.
        handed_in: the CA, if it comes from variables.
        secret: name of the Secret with the gateway's certificate.
        leaf: its decoded entries.
        names: what it must cover.
        state: the CA; None where it is not ours.
        facts: facts for the state machine.
        records: site -> its record in the ledger.
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


def decide(rotate: str, inputs: RotationInputs) -> tuple[dict[str, str], str | None]:
    """What to do, and why.

    Args:
        rotate: one of C(CHOICES).
        looked: what was read.

    Returns:
        Kind -> reason, in the order in which they are done; and why a request cannot be fulfilled, or None.
    """
    if rotate != DUE:
        refused = source.refusal(inputs.source, rotate, inputs.handed_in is not None, inputs.secret)
        if rotate in (LEAF, CA) and not refused:
            refused = handing_over(inputs)
        if rotate == LEAF and not refused and _cannot_sign(inputs):
            refused = f"{_cannot_sign(inputs)}, so its certificates are useless: replace the CA (flower_rotate=ca)"
        begun = {CA: _begun(inputs), SUPEREXEC: _open(inputs)}.get(rotate)
        return {rotate: begun or ASKED}, refused
    found = {LEAF: _leaf(inputs), CA: _ca(inputs), CLIENT: _clients(inputs), SUPEREXEC: _open(inputs)}
    return {kind: reason for kind, reason in found.items() if reason}, None


def handing_over(inputs: RotationInputs) -> str | None:
    """Why no certificate of ours can be served yet, since the gateway keeps the certificate of a previous source (C(hub.handover))."""
    if inputs.source != BUILTIN or _begun(inputs):
        return None
    if inputs.secret != SECRET:
        why = f"the gateway still serves Secret {inputs.secret}, of another source"
    elif _signer(inputs) and trusted(inputs.leaf["tls.crt"], inputs.facts.published, inputs.now) and not _own(inputs):
        why = f"the gateway still serves a certificate of a previous CA in Secret {inputs.secret}"
    else:
        return None
    return f"{why}: run site.yml, which serves one of the current CA as soon as it is in the CA bundle of the sites"


def _signer(inputs: RotationInputs) -> certificates.Issued | None:
    return inputs.handed_in or (inputs.state.authority.current if inputs.state else None)


def _own(inputs: RotationInputs) -> bool:
    signer = _signer(inputs)
    return signer is not None and gateway_certificates.signed(inputs.leaf["tls.crt"], signer.certificate)


def _leaf(inputs: RotationInputs) -> str | None:
    signer = _signer(inputs)
    if inputs.source != BUILTIN or signer is None or handing_over(inputs):
        return None
    reason = certificates.reissue_reason(
        inputs.leaf["tls.crt"], signer.certificate, inputs.names, inputs.now, inputs.renew_before
    )
    # Faults of a certificate of a CA that is or must be rotated are resolved by the rotation.
    if reason and not _begun(inputs) and not _cannot_sign(inputs):
        return reason
    return None if inputs.facts.leaf.served == inputs.facts.leaf.serial else UNSERVED


def _ca(inputs: RotationInputs) -> str | None:
    if inputs.state is None or handing_over(inputs):
        return None
    return (
        _begun(inputs)
        or _cannot_sign(inputs)
        or certificates.aged(inputs.state.authority.current.certificate, inputs.now, inputs.ca_renew_before)
    )


def _cannot_sign(inputs: RotationInputs) -> str | None:
    """Why the CA is unusable, or None."""
    if inputs.state is None:
        return None
    if not inputs.facts.current_good:
        return "the CA has ended"
    return None if inputs.state.authority.current.key else "the key of the CA is lost"


def _begun(inputs: RotationInputs) -> str | None:
    state = inputs.state
    if state is None or state.phase == IDLE:
        return None
    since = f" on {state.started.isoformat(timespec='seconds')}" if state.started else ""
    return f"it was started{since} and is {state.phase}"


def _open(inputs: RotationInputs) -> str | None:
    return "it was started and is not complete" if inputs.internal else None


def _clients(inputs: RotationInputs) -> str | None:
    due = []
    for site, record in sorted(inputs.records.items()):
        certificate = (record.get("client") or {}).get("certificate")
        reason = certificates.aged(certificate, inputs.now) if certificate else None
        if reason:
            due.append(f"{site}: {reason}")
    return "; ".join(due) or None


_COST = {
    LEAF: "a new certificate for the gateway, served at once; nothing restarts",
    CLIENT: "new client certificates for the sites; nothing restarts",
    SUPERNODE_KEYS: "new keys for the SuperNodes, which are registered again and restarted pool by pool when no run is active",
    SUPEREXEC: "new shared secrets and internal certificates; the hub's pods and all SuperNodes restart when no run is active",
}


def outlook(todo: Mapping[str, str], inputs: RotationInputs, sites: Mapping[str, Site]) -> list[str]:
    """What would happen, sentences.

    Args:
        todo: see C(decide).
        looked: what was read.
        sites: what is known of each site.
    """
    words = []
    for kind, reason in todo.items():
        if kind != CA:
            words.append(f"{kind}: {reason}: {_COST[kind]}.")
            continue
        if inputs.state is None:
            continue
        facts = replace(inputs.facts, asked=inputs.state.phase == IDLE, sites=sites)
        stand_in = certificates.make_ca("the next CA", datetime.timedelta(days=1))
        steps = machine.outlook(inputs.state, facts, stand_in)
        reported = "; ".join(step.why + (f" ({', '.join(step.sites)})" if step.sites else "") for step in steps)
        words.append(f"{kind}: {reason}: {reported}.")
    return words
