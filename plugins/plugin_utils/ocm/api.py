# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of Open Cluster Management's cluster API.

Source: open-cluster-management.io/api, package C(cluster); the versions are those that every release from 0.16 on serves.
"""

from __future__ import annotations

GROUP = "cluster.open-cluster-management.io"

CLUSTERS = f"{GROUP}/v1"  # ManagedCluster
SETS = f"{GROUP}/v1beta2"  # ManagedClusterSet
PLACEMENTS = f"{GROUP}/v1beta1"  # Placement, PlacementDecision

# Labels of a ManagedCluster.
SET_LABEL = f"{GROUP}/clusterset"
ADDON_LABEL = "feature.open-cluster-management.io/addon-"  # and the add-on's name

# Labels of a PlacementDecision.
PLACEMENT_LABEL = f"{GROUP}/placement"
GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"
GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"
