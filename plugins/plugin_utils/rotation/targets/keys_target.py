# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SuperNodes' own keys: they are re-enrolled."""

from __future__ import annotations

from .target import SITES, Target


class KeysTarget(Target):
    """See C(Target). Keys do not age."""

    name = "supernode_keys"
    part = SITES
    cost = "new keys for the SuperNodes, which are registered again and restarted pool by pool when no run is active"
    renew = ("keys",)
    restarts = True
