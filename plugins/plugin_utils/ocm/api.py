# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of Open Cluster Management's APIs.

Source: open-cluster-management.io/api, packages C(cluster), C(addon) and C(work); the versions are those that every release
from 0.16 on serves. From 1.2 on the add-on API is served as C(v1beta1) as well, with other fields, and discovery prefers it:
so every object and every request has C(v1alpha1).
"""

from __future__ import annotations

GROUP = "cluster.open-cluster-management.io"

CLUSTERS = f"{GROUP}/v1"  # ManagedCluster
SETS = f"{GROUP}/v1beta2"  # ManagedClusterSet
PLACEMENTS = f"{GROUP}/v1beta1"  # Placement, PlacementDecision

ADDON_GROUP = "addon.open-cluster-management.io"
# ClusterManagementAddOn, AddOnTemplate, AddOnDeploymentConfig, ManagedClusterAddOn
ADDONS = f"{ADDON_GROUP}/v1alpha1"
TEMPLATES_RESOURCE, CONFIGS_RESOURCE = "addontemplates", "addondeploymentconfigs"

WORK_GROUP = "work.open-cluster-management.io"
WORKS = f"{WORK_GROUP}/v1"  # ManifestWork
REPLICA_SETS = f"{WORK_GROUP}/v1alpha1"  # ManifestWorkReplicaSet
# Label of a ManifestWork that a ManifestWorkReplicaSet created: its NAMESPACE.NAME.
REPLICA_SET_LABEL = f"{WORK_GROUP}/manifestworkreplicaset"

OPERATOR = "operator.open-cluster-management.io/v1"  # ClusterManager, Klusterlet

# Annotation of a manifest in an add-on's template: it stays in the cluster when the add-on leaves.
STAYS = f"{ADDON_GROUP}/deletion-orphan"

# Labels of a ManagedCluster.
SET_LABEL = f"{GROUP}/clusterset"
ADDON_LABEL = "feature.open-cluster-management.io/addon-"  # and the add-on's name

# Taints of a ManagedCluster whose agent reports that it is unhealthy, or nothing at all.
UNAVAILABLE = f"{GROUP}/unavailable"
UNREACHABLE = f"{GROUP}/unreachable"

# Labels of a PlacementDecision.
PLACEMENT_LABEL = f"{GROUP}/placement"
GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"
GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"
