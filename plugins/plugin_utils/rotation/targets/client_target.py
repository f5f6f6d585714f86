# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sites' client certificates. Nothing restarts."""

from __future__ import annotations

from ...pki import certificates
from ..inputs import RotationInputs
from .target import SITES, Target


class ClientTarget(Target):
    """See C(Target)."""

    name = "client"
    part = SITES
    cost = "new client certificates for the sites; nothing restarts"
    renew = ("client",)

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        due = []
        for site, record in sorted(inputs.records.items()):
            certificate = (record.get("client") or {}).get("certificate")
            reason = certificates.aged(certificate, inputs.now) if certificate else None
            if reason:
                due.append(f"{site}: {reason}")
        return "; ".join(due) or None
