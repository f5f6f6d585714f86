# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a target: something that can be rotated. Pure.

A target is a file beside this one with a subclass, and an entry in C(target_registry.py). The role cert_rotation has a file of
tasks for each part; most targets need no additional tasks.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..inputs import RotationInputs
from ..machine import Site

# Parts of the role cert_rotation: what its tasks do.
LEAF, CA, SITES, SECRETS = "leaf", "ca", "sites", "secrets"
PARTS = (LEAF, CA, SITES, SECRETS)


class Target:
    """One thing that is rotated on its own.

    Attributes:
        name: the word of C(flower_rotate).
        part: the part of the role that replaces it, one of C(PARTS).
        cost: what its replacement means for the federation, a sentence without the full stop.
        renew: for the part C(sites), what the sites replace although it is valid, when this target is requested.
        restarts: for the part C(sites), whether SuperNodes are restarted, so that all must be online before.
    """

    name = ""
    part = SITES
    cost = ""
    renew: tuple[str, ...] = ()
    restarts = False

    def due(self, inputs: RotationInputs) -> str | None:
        """Why it is due now, without a request; None if it is not."""
        return None

    def begun(self, inputs: RotationInputs) -> str | None:
        """That its replacement was started and is not complete; else None."""
        return None

    def refusal(self, inputs: RotationInputs) -> str | None:
        """Why it cannot be replaced although it was requested, with the remedy; None if it can."""
        return None

    def outlook(self, reason: str, inputs: RotationInputs, sites: Mapping[str, Site]) -> str:
        """What would happen, a sentence; may be empty."""
        return f"{self.name}: {reason}: {self.cost}."
