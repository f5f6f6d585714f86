# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables on which several parts of the collection agree; those that the key program of a site needs are in C(names.py)."""

from __future__ import annotations

from typing import NamedTuple

# How objects reach a site, flower_delivery; reach/registry.py has what is known of each.
DIRECT, OCM, BUNDLE = "direct", "ocm", "bundle"
# Who decides which clusters get new ClientApps at a time, supernode_clientapp_pace: the play, or Open Cluster Management.
PLAY_PACE, OCM_PACE = "play", "ocm"


class SiteAccess(NamedTuple):
    """How a site is reached; C(reach/site_access.py) reads it from its variables.

    Attributes:
        delivery: how objects reach it, one of those above.
        key_source: where its keys are created.
        connectivity: how its SuperNodes reach the SuperLink.
    """

    delivery: str
    key_source: str
    connectivity: str
