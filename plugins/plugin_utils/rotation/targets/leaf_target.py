# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's certificate. Nothing restarts."""

from __future__ import annotations

from ...hub.sources.interface import BUILTIN
from ...pki import certificates
from .. import source
from ..looked import Looked, ca_begun, cannot_sign, handing_over, signer
from .target import LEAF, Target

UNSERVED = "it was issued, but the gateway does not serve it yet"


class LeafTarget(Target):
    """See C(Target)."""

    name = source.LEAF
    part = LEAF
    cost = "a new certificate for the gateway, served at once; nothing restarts"

    def due(self, looked: Looked) -> str | None:
        """See C(Target). What is wrong with a certificate of a CA that changes, or has to, is mended by the change."""
        ca = signer(looked)
        if looked.source != BUILTIN or ca is None or handing_over(looked):
            return None
        reason = certificates.reissue_reason(
            looked.leaf["tls.crt"], ca.certificate, looked.names, looked.now, looked.renew_before
        )
        if reason and not ca_begun(looked) and not cannot_sign(looked):
            return reason
        return None if looked.facts.leaf.served == looked.facts.leaf.serial else UNSERVED

    def refusal(self, looked: Looked) -> str | None:
        """See C(Target)."""
        refused = source.refusal(looked.source, self.name, looked.handed_in is not None, looked.secret)
        refused = refused or handing_over(looked)
        if not refused and cannot_sign(looked):
            return f"{cannot_sign(looked)}, so no certificate of it is of use: replace the CA (flower_rotate=ca)"
        return refused
