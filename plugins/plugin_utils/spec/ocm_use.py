# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a hub uses of Open Cluster Management."""

from __future__ import annotations

from dataclasses import dataclass

from .fields import Flag, Parsed, Text

INSTALLS = PLACEMENTS, MANUAL = "Placements", "Manual"


@dataclass(frozen=True)
class OcmUse(Parsed):
    """What a hub uses of Open Cluster Management.

    Attributes:
        ocm: whether it delivers to sites through it.
        install: whether Placements choose the sites.
        bind_cluster_sets: false where the hub's administrators make the ManagedClusterSetBindings.
        clientapps: whether ClientApps of some site are a workload of their own, see ocm/replica_set.py.
        enable_gates: whether the feature for that may be enabled.
    """

    ocm: Flag = False
    install: Text = PLACEMENTS
    bind_cluster_sets: Flag = True
    clientapps: Flag = False
    enable_gates: Flag = False

    @property
    def has_placements(self) -> bool:
        """Whether anything at all is brought by Placements: ClientApps of their own always are."""
        return self.ocm and (self.install == PLACEMENTS or self.clientapps)
