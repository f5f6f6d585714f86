# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's certificate. Nothing restarts."""

from __future__ import annotations

from ...hub.sources.interface import BUILTIN
from ...pki import certificates, chain
from .. import source
from ..inputs import RotationInputs, ca_begun, cannot_sign, handing_over, has_own_leaf, signer
from .target import LEAF, Target

UNSERVED = "it was issued, but the gateway does not serve it yet"


class LeafTarget(Target):
    """See C(Target)."""

    name = source.LEAF
    part = LEAF
    cost = "a new certificate for the gateway, served at once; nothing restarts"

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target). Faults other than its age are left to a rotation of the CA that was started, and all to one that must be."""
        ca = signer(inputs)
        if inputs.source != BUILTIN or ca is None or handing_over(inputs):
            return None
        reason = None
        if not ca_begun(inputs):
            certificate = inputs.leaf.get("tls.crt", "")
            reason = chain.unusable(certificate, inputs.leaf.get("tls.key", "")) or certificates.reissue_reason(
                certificate, ca.certificate, inputs.names, inputs.now, inputs.renew_before
            )
        elif has_own_leaf(inputs):
            # A site that is down holds up the rotation of the CA, perhaps for longer than this certificate is valid.
            reason = certificates.aged(inputs.leaf["tls.crt"], inputs.now, inputs.renew_before)
        if reason and not cannot_sign(inputs):
            return reason
        return None if inputs.facts.leaf.served == inputs.facts.leaf.serial else UNSERVED

    def refusal(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        refused = source.refusal(inputs.source, self.name, inputs.handed_in is not None, inputs.secret)
        refused = refused or handing_over(inputs)
        if not refused and cannot_sign(inputs):
            return f"{cannot_sign(inputs)}, so its certificates are useless: replace the CA (flower_rotate=ca)"
        return refused
