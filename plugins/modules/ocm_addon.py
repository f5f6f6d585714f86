#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_addon
short_description: Check, apply or remove the add-on of an Open Cluster Management hub
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    V(present) applies the objects of the add-on that are not specific to a cluster to the hub. AddOnTemplates and AddOnDeploymentConfigs are never
    changed: every change of settings creates new ones. With C(ocm_addon_enable_gates) it first enables the feature that separate ClientApps
    need.
  - >-
    If the add-on exists and gets its clusters from another Placement than before, the Placement is applied first. The
    add-on refers to it when it has selected every cluster that has a site. If it does not select them within a minute,
    the task fails, and the add-on stays as it is.
  - >-
    If an add-on of this name belongs to someone else, or to a federation of this name in another namespace, nothing is
    changed.
  - >-
    V(checked) changes nothing. It reports kinds that the hub does not serve, features that are disabled or not supported by its API, missing rights,
    an add-on of the same name that belongs to someone else, and cluster sets that do not exist or are not bound.
  - >-
    V(cleaned) deletes templates and configs that no add-on of any cluster refers to, in its specification or its status, and ManifestWorkReplicaSets
    with ClientApps, and their Placements, that no cluster's label refers to. V(absent) deletes the add-on, waits until it is gone, and cleans up.
  - This module is a step of the role C(federated.flower.ocm_addon). Its options may change in any release.
options:
  spec:
    description: The specification. Defaults to the variables of the role.
    type: dict
  state:
    description: Wanted state. V(policy) only returns the security baseline of sites as a policy in RV(objects).
    type: str
    choices: [absent, checked, cleaned, policy, present]
    default: present
  claim:
    description: Whether to take over the add-on of a federation of this name in another namespace. By default C(ocm_addon_claim).
    type: bool
    default: false
  sites:
    description: Sites of the inventory, by default of its group. Warnings name other sites that the hub still serves, and sites to which it still delivers in
      a former cluster.
    type: list
    elements: str
    default: []
  forget:
    description:
      - With V(cleaned), names of sites that are not in O(sites). Deletes what is delivered to them. A list, or a comma-separated string.
      - Where the identity may not read what the hub delivers, it fails, unless the ledger says that these sites were delivered in another way.
    type: raw
  former:
    description: With V(cleaned), names of managed clusters from which sites of O(sites) have moved to other ones. Deletes what is delivered there for these
      sites, and nothing else. A list, or a comma-separated string.
    type: raw
  max:
    description: Maximum number of sites to forget at once, see M(federated.flower.supernode_forget).
    type: int
  wait_timeout:
    description: Seconds to wait for the removal, or for the operator that enables a feature. By default C(ocm_addon_wait_timeout).
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Apply the add-on
  federated.flower.ocm_addon:
"""

RETURN = r"""
msg:
  description: Number of objects that were created, changed, deleted and unchanged.
  returned: always
  type: str
objects:
  description: Result for each object, as of M(federated.flower.apply); with V(policy), the objects themselves.
  returned: success, except when checked
  type: list
  elements: dict
install:
  description: The add-on's install strategy.
  returned: when checked
  type: str
predicates:
  description: Predicates of the add-on's Placement.
  returned: when checked
  type: list
  elements: dict
cluster_sets:
  description: Cluster sets that the Placement selects from.
  returned: when checked
  type: list
  elements: str
set_labels:
  description: Name and label selector of the hub's cluster sets that select clusters by any labels.
  returned: when checked
  type: dict
tolerations:
  description: Tolerations of the Placement.
  returned: when checked
  type: list
  elements: dict
"""
