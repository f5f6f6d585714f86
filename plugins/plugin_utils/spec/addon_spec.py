# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on of Open Cluster Management."""

from __future__ import annotations

from dataclasses import dataclass, field

from .fields import Flag, Listed, Mapped, MaybeNumber, Text, Texts
from .ocm_use import OcmUse
from .part_spec import PartSpec


@dataclass(frozen=True, kw_only=True)
class AddonSpec(PartSpec, OcmUse):
    """The add-on, of which each managed cluster gets one.

    Attributes:
        name: of the add-on.
        placement: name of the Placement in the federation's namespace.
        cluster_sets: cluster sets that the Placement chooses from; each is bound to the namespace.
        predicates: the Placement's own (Placement API v1beta1); the label of the federation if empty.
        number_of_clusters: the Placement's own, as C(prioritizers), C(spread) and C(decision_groups); empty for none.
        tolerations: of the Placement, beside those for clusters that are not heard.
        rollout: the ClusterManagementAddOn's rolloutStrategy, for its default; empty for all at once.
    """

    version: Text = field()  # in all labels
    name: Text = ""
    placement: Text = ""
    cluster_sets: Texts = field(default_factory=list)
    predicates: Listed = field(default_factory=list)
    number_of_clusters: MaybeNumber = None
    prioritizers: Listed = field(default_factory=list)
    spread: Listed = field(default_factory=list)
    decision_groups: Mapped = field(default_factory=dict)
    tolerations: Listed = field(default_factory=list)
    rollout: Mapped = field(default_factory=dict)
    policy_remediation: Text = "inform"
    ocm: Flag = True
