#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_clean
short_description: Delete unreferenced add-on versions
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    AddOnTemplates and AddOnDeploymentConfigs of this collection are never changed. Every change of settings creates
    new ones. This module deletes those that no add-on of any cluster refers to, in its specification or its status.
  - It also deletes ManifestWorkReplicaSets with ClientApps, and their Placements, that no cluster's label refers to.
  - This module is a step of the role C(federated.flower.ocm_addon). Its options may change in any release.
options:
  addon:
    description:
      - Name of the add-on.
    type: str
    required: true
  federation:
    description:
      - Name of the federation.
    type: str
    default: flower
  namespace:
    description:
      - Namespace of the configs on the hub.
    type: str
    default: flower
  sites:
    description:
      - Sites of the inventory. Sites that are still served but not in this list are reported.
      - If it is not set, no such sites are searched for.
    type: list
    elements: str
  forget:
    description:
      - Names of sites that are not in O(sites). Deletes what is delivered to them. A list, or a comma-separated string.
      - Where the identity may not read what the hub delivers, it fails, unless the ledger says that these sites were delivered in another
        way.
    type: raw
  former:
    description:
      - Names of managed clusters from which sites of O(sites) have moved to other ones. Deletes what is delivered there for these sites, and
        nothing else. A list, or a comma-separated string.
    type: raw
  max:
    description:
      - Maximum number of sites to forget at once, see M(federated.flower.supernode_forget).
    type: int
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
- name: Delete unreferenced versions
  federated.flower.ocm_clean:
    addon: flower-supernode
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
objects:
  description: The deleted objects, as returned by M(federated.flower.apply).
  returned: success
  type: list
  elements: dict
"""
