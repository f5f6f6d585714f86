# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open Cluster Management: what a hub uses of it, and the add-on."""

from __future__ import annotations

from dataclasses import dataclass, field

from .fields import Flag, Limit, Listed, Mapped, Parsed, Text, Texts
from .part_spec import PartSpec

INSTALLS = PLACEMENTS, MANUAL = "Placements", "Manual"


@dataclass(frozen=True)
class OcmUse(Parsed):
    """What a hub uses of Open Cluster Management.

    Attributes:
        ocm: whether it delivers to sites through it.
        install: whether Placements choose the sites.
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


@dataclass(frozen=True, kw_only=True)
class AddonSpec(PartSpec, OcmUse):
    """The add-on, of which each managed cluster gets one."""

    version: Text = field()  # in all labels
    name: Text = ""
    placement: Text = ""
    cluster_sets: Texts = field(default_factory=list)
    predicates: Listed = field(default_factory=list)
    number_of_clusters: Limit = None
    prioritizers: Listed = field(default_factory=list)
    spread: Listed = field(default_factory=list)
    decision_groups: Mapped = field(default_factory=dict)
    tolerations: Listed = field(default_factory=list)
    rollout: Mapped = field(default_factory=dict)
    policy_remediation: Text = "inform"
    ocm: Flag = True
