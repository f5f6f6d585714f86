# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The CA that sites trust. With sidecars nothing restarts; without, SuperNodes do, twice."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace

from ...pki import certificates
from .. import machine, source
from ..ca_state import IDLE
from ..looked import Looked, ca_begun, cannot_sign, handing_over
from .target import CA, Target


class CaTarget(Target):
    """See C(Target)."""

    name = source.CA
    part = CA

    def due(self, looked: Looked) -> str | None:
        """See C(Target)."""
        if looked.state is None or handing_over(looked):
            return None
        return (
            ca_begun(looked)
            or cannot_sign(looked)
            or certificates.aged(looked.state.authority.current.certificate, looked.now, looked.ca_renew_before)
        )

    def begun(self, looked: Looked) -> str | None:
        """See C(Target)."""
        return ca_begun(looked)

    def refusal(self, looked: Looked) -> str | None:
        """See C(Target)."""
        refused = source.refusal(looked.source, self.name, looked.handed_in is not None, looked.secret)
        return refused or handing_over(looked)

    def outlook(self, reason: str, looked: Looked, sites: Mapping[str, machine.Site]) -> str:
        """See C(Target). The steps of the machine."""
        if looked.state is None:
            return ""
        facts = replace(looked.facts, asked=looked.state.phase == IDLE, sites=sites)
        stand_in = certificates.make_ca("the next CA", datetime.timedelta(days=1))
        steps = machine.outlook(looked.state, facts, stand_in)
        told = "; ".join(step.why + (f" ({', '.join(step.sites)})" if step.sites else "") for step in steps)
        return f"{self.name}: {reason}: {told}."
