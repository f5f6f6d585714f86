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
from ..inputs import RotationInputs, ca_begun, cannot_sign, handing_over
from .target import CA, Target


class CaTarget(Target):
    """See C(Target)."""

    name = source.CA
    part = CA

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        if inputs.state is None or handing_over(inputs):
            return None
        return (
            ca_begun(inputs)
            or cannot_sign(inputs)
            or certificates.aged(inputs.state.authority.current.certificate, inputs.now, inputs.ca_renew_before)
        )

    def begun(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return ca_begun(inputs)

    def refusal(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        refused = source.refusal(inputs.source, self.name, inputs.handed_in is not None, inputs.secret)
        return refused or handing_over(inputs)

    def outlook(self, reason: str, inputs: RotationInputs, sites: Mapping[str, machine.Site]) -> str:
        """See C(Target). The steps of the machine."""
        if inputs.state is None:
            return ""
        facts = replace(inputs.facts, asked=inputs.state.phase == IDLE, sites=sites)
        stand_in = certificates.make_ca("the next CA", datetime.timedelta(days=1))
        steps = machine.outlook(inputs.state, facts, stand_in)
        reported = "; ".join(step.why + (f" ({', '.join(step.sites)})" if step.sites else "") for step in steps)
        return f"{self.name}: {reason}: {reported}."
