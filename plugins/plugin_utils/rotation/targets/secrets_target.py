# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shared secrets and internal certificates: the hub's pods and all SuperNodes restart."""

from __future__ import annotations

from ..inputs import RotationInputs
from .target import SECRETS, Target


class SecretsTarget(Target):
    """See C(Target)."""

    name = "superexec"
    part = SECRETS
    cost = (
        "new shared secrets and internal certificates; the hub's pods and all SuperNodes restart when no run is active"
    )

    def due(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return self.begun(inputs)

    def begun(self, inputs: RotationInputs) -> str | None:
        """See C(Target)."""
        return "it was started and is not complete" if inputs.internal else None
