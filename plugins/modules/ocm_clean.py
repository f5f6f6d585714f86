#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_clean
short_description: Delete versions of an add-on that nobody names any more
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    An AddOnTemplate or AddOnDeploymentConfig of this collection is never changed: each change of settings makes another one. This
    deletes those that no add-on names, wants or has, on any cluster.
  - >-
    The same goes for ManifestWorkReplicaSets with ClientApps and their Placements, which no cluster's label names any more.
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
      - Sites of the inventory. What is still delivered to others is told.
      - Nobody is looked for if this is not given.
    type: list
    elements: str
  forget:
    description:
      - Names of sites that are not among O(sites); what is delivered to them is taken away. A list, or a text with commas between them.
    type: raw
  max:
    description:
      - How many sites may be forgotten at once, see M(federated.flower.supernode_forget).
    type: int
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Delete what nobody names
  federated.flower.ocm_clean:
    addon: flower-supernode
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
objects:
  description: The objects that were deleted, as M(federated.flower.apply) tells it.
  returned: success
  type: list
  elements: dict
"""
