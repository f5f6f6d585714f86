# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be rotated: what every target is asked. Pure.

A target is a file beside this one with a subclass, and an entry in C(target_registry.py). The role cert_rotation has a file of
tasks for each part; most targets need no tasks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..looked import Looked
from ..machine import Site

# Parts of the role cert_rotation: what its tasks do.
LEAF, CA, SITES, SECRETS = "leaf", "ca", "sites", "secrets"
PARTS = (LEAF, CA, SITES, SECRETS)


class Target:
    """One thing that is rotated on its own.

    Attributes:
        name: the word of C(flower_rotate).
        part: the part of the role that replaces it, one of C(PARTS).
        cost: what replacing it means for the federation, a sentence without its end.
        renew: for the part C(sites), what the sites replace although it is good, when this target is asked for.
        restarts: for the part C(sites), whether SuperNodes are restarted, so that all have to be online before.
    """

    name = ""
    part = SITES
    cost = ""
    renew: tuple[str, ...] = ()
    restarts = False

    def due(self, looked: Looked) -> str | None:
        """Why it is to be replaced now, without being asked for; None if it is not."""
        return None

    def begun(self, looked: Looked) -> str | None:
        """That its replacement was begun and is not over; None if it is not so."""
        return None

    def refusal(self, looked: Looked) -> str | None:
        """Why it cannot be replaced although it was asked for, with the way out; None if it can."""
        return None

    def outlook(self, reason: str, looked: Looked, sites: Mapping[str, Site]) -> str:
        """What would happen, a sentence; empty if there is nothing to say."""
        return f"{self.name}: {reason}: {self.cost}."
