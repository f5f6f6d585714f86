# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be rotated, and what of it is requested, due, or was started and is not complete. Pure.

A new target is a subclass of C(Target), with its instance in C(TARGETS).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..base.object_names import BUILTIN, CERT_MANAGER, EXISTING, GATEWAY_SECRET
from ..pki import certificates, chain
from . import clocks, machine
from .authority import is_trusted
from .ca_state import IDLE, State

DUE = "due"
ASKED = "it was requested"
UNSERVED = "it was issued, but the gateway does not serve it yet"

# Parts of a rotation (C(rotation_run.Rotation)), each of which replaces one target or more, in their order.
PARTS = LEAF, CA, SITES, SECRETS = "leaf", "ca", "sites", "secrets"

_ELSEWHERE = {
    (CERT_MANAGER, LEAF): (
        "cert-manager issues the certificate in Secret {secret} and renews it automatically (superlink_certificates_source is "
        "cert_manager): reissue it there, with `cmctl renew superlink-gateway`; site.yml has it served at once"
    ),
    (CERT_MANAGER, CA): (
        "cert-manager issues the certificate in Secret {secret} (superlink_certificates_source is cert_manager), so its CA is "
        "that of the issuer: replace it there. site.yml publishes old and new CA first, and then has the new certificate served"
    ),
    (EXISTING, LEAF): (
        "the certificate in Secret {secret} is provided by you (superlink_certificates_source is existing): replace it at its source, "
        "then run site.yml, which checks and serves it"
    ),
    (EXISTING, CA): (
        "the certificate in Secret {secret} is provided by you (superlink_certificates_source is existing), and so is its "
        "CA: set both CAs in superlink_ca_bundle, run site.yml, then replace the certificate and run site.yml again"
    ),
}
_HANDED_IN = (
    "the CA is provided by you (superlink_ca_certificate and superlink_ca_key): replace both; site.yml then publishes the old and the "
    "new one, and when it is run again it has a certificate of the new one served"
)


@dataclass(frozen=True)
class RotationInputs:
    """The state before a rotation.

    Attributes:
        source: that of the gateway's certificate.
        handed_in: the CA, if it comes from variables.
        secret: name of the Secret with the gateway's certificate.
        leaf: its decoded entries.
        names: what it must cover.
        state: the CA; None where it is not ours.
        records: of the sites that this run reaches: nothing is replaced at others, such as one that has left.
        renew_before: how long before its expiry the gateway's certificate is due; None for half of its lifetime. C(ca_renew_before): that of the CA.
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

    @property
    def signer(self) -> certificates.Issued | None:
        """The CA that signs; None where it is not ours."""
        return self.handed_in or (self.state.authority.current if self.state else None)

    @property
    def has_own_leaf(self) -> bool:
        """Whether the gateway's certificate was issued by the CA that signs."""
        return self.signer is not None and chain.signed_by(self.leaf.get("tls.crt", ""), self.signer.certificate)

    @property
    def ca_unusable(self) -> str | None:
        """Why the CA signs nothing that sites accept, or None."""
        if self.state is None:
            return None
        if not self.facts.current_valid:
            return "the CA has expired"
        return None if self.state.authority.current.key else "the key of the CA is lost"

    @property
    def ca_begun(self) -> str | None:
        """That a rotation of the CA was started and is not complete, or None."""
        if self.state is None or self.state.phase == IDLE:
            return None
        since = f" on {self.state.started.isoformat(timespec='seconds')}" if self.state.started else ""
        return f"it was started{since} and is {self.state.phase}"

    def refusal(self, kind: str) -> str | None:
        """Why C(leaf) or C(ca) is not replaced here, with the remedy; None if it is."""
        if self.source != BUILTIN:
            return _ELSEWHERE[self.source, kind].format(secret=self.secret)
        return _HANDED_IN if kind == CA and self.handed_in else self.handing_over

    @property
    def handing_over(self) -> str | None:
        """Why no certificate of ours can be served yet, since the gateway keeps the certificate of a previous source (C(authority.hand_over))."""
        if self.source != BUILTIN or self.ca_begun:
            return None
        if self.secret != GATEWAY_SECRET:
            why = f"the gateway still serves Secret {self.secret}, of another source"
        elif self.signer and is_trusted(self.leaf.get("tls.crt", ""), self.facts.published, self.now) and not self.has_own_leaf:
            why = f"the gateway still serves a certificate of a previous CA in Secret {self.secret}"
        else:
            return None
        return f"{why}: run site.yml, which serves one of the current CA as soon as it is in the CA bundle of the sites"


class Target:
    """One thing that is rotated on its own.

    Attributes:
        name: the word of C(flower_rotate).
        part: the part of a rotation that replaces it, one of C(PARTS).
        cost: what its replacement means for the federation, a sentence without the full stop.
        renew: for the part C(SITES), what the sites replace although it is valid, when this target is requested.
        restarts: for the part C(SITES), whether SuperNodes are restarted, so that all must be online before.
    """

    name = ""
    part = SITES
    cost = ""
    renew: tuple[str, ...] = ()
    restarts = False

    def due(self, inputs: RotationInputs) -> str | None:
        """Why it is due now, without a request; None if it is not."""
        return self.begun(inputs)

    def begun(self, inputs: RotationInputs) -> str | None:
        """That its replacement was started and is not complete; else None."""
        return None

    def refusal(self, inputs: RotationInputs) -> str | None:
        """Why it cannot be replaced although it was requested, with the remedy; None if it can."""
        return None

    def outlook(self, inputs: RotationInputs, sites: Mapping[str, machine.Site]) -> str:
        """What would happen."""
        return self.cost


class LeafTarget(Target):
    """The gateway's certificate. Nothing restarts."""

    name = part = LEAF
    cost = "a new certificate for the gateway, served at once; nothing restarts"

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target). Faults other than its age are left to a rotation of the CA that was started, and all to one that must be."""
        ca = inputs.signer
        if inputs.source != BUILTIN or ca is None or inputs.handing_over:
            return None
        reason = None
        if not inputs.ca_begun:
            certificate = inputs.leaf.get("tls.crt", "")
            reason = chain.unusable(certificate, inputs.leaf.get("tls.key", "")) or certificates.reissue_reason(
                certificate, ca.certificate, inputs.names, inputs.now, inputs.renew_before
            ) or clocks.not_valid_yet(certificate, inputs.now)
        elif inputs.has_own_leaf:
            # A site that is down holds up the rotation of the CA, perhaps for longer than this certificate is valid.
            reason = certificates.aged(inputs.leaf["tls.crt"], inputs.now, inputs.renew_before)
        if reason and not inputs.ca_unusable:
            return reason
        return None if inputs.facts.leaf.served == inputs.facts.leaf.serial else UNSERVED

    def refusal(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        unusable = inputs.ca_unusable and f"{inputs.ca_unusable}, so it cannot issue certificates: replace the CA (flower_rotate=ca)"
        return inputs.refusal(LEAF) or unusable


class CaTarget(Target):
    """The CA that sites trust. With sidecars nothing restarts; without, SuperNodes do, twice."""

    name = part = CA

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        if inputs.state is None or inputs.handing_over:
            return None
        current = inputs.state.authority.current.certificate
        return inputs.ca_begun or inputs.ca_unusable or certificates.aged(current, inputs.now, inputs.ca_renew_before)

    def begun(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return inputs.ca_begun

    def refusal(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return inputs.refusal(CA)

    def outlook(self, inputs: RotationInputs, sites: Mapping[str, machine.Site]) -> str:
        """See C(Target). The steps of the machine."""
        if inputs.state is None:
            return ""
        facts = replace(inputs.facts, requested=inputs.state.phase == IDLE, sites=sites)
        steps = machine.outlook(inputs.state, facts, certificates.make_ca("the next CA", datetime.timedelta(days=1)))
        return "; ".join(step.why + (f" ({', '.join(step.sites)})" if step.sites else "") for step in steps)


class ClientTarget(Target):
    """The sites' client certificates. Nothing restarts."""

    name = "client"
    cost = "new client certificates for the sites; nothing restarts"
    renew = ("client",)

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        issued = {site: (record.get("client") or {}).get("certificate") for site, record in sorted(inputs.records.items())}
        reasons = {
            site: certificates.aged(certificate, inputs.now) or clocks.not_valid_yet(certificate, inputs.now)
            for site, certificate in issued.items()
            if certificate
        }
        return "; ".join(f"{site}: {reason}" for site, reason in reasons.items() if reason) or None


class KeysTarget(Target):
    """The SuperNodes' own keys, which are registered again. They do not age."""

    name = "supernode_keys"
    cost = "new keys for the SuperNodes, which are registered again and restarted pool by pool when no run is active"
    renew = ("keys",)
    restarts = True


class SecretsTarget(Target):
    """Shared secrets and internal certificates: the hub's pods and all SuperNodes restart."""

    name = "superexec"
    part = SECRETS
    cost = "new shared secrets and internal certificates; the hub's pods and all SuperNodes restart when no run is active"

    def begun(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return "it was started and is not complete" if inputs.internal else None


# In the order in which they are rotated.
TARGETS: dict[str, Target] = {one.name: one for one in (LeafTarget(), CaTarget(), ClientTarget(), KeysTarget(), SecretsTarget())}
KINDS = tuple(TARGETS)
CHOICES = (DUE, *KINDS)


def decide(rotate: str, inputs: RotationInputs) -> tuple[dict[str, str], str | None]:
    """What is rotated, in the order in which it is done, and why; and why a request (one of C(CHOICES)) cannot be fulfilled, or None."""
    if rotate != DUE:
        target = TARGETS[rotate]
        return {rotate: target.begun(inputs) or ASKED}, target.refusal(inputs)
    found = {name: target.due(inputs) for name, target in TARGETS.items()}
    return {kind: reason for kind, reason in found.items() if reason}, None


def outlook(todo: Mapping[str, str], inputs: RotationInputs, sites: Mapping[str, machine.Site]) -> list[str]:
    """What would happen: a sentence for each kind that is rotated."""
    found = {kind: TARGETS[kind].outlook(inputs, sites) for kind in todo}
    return [f"{kind}: {todo[kind]}: {words}." for kind, words in found.items() if words]
