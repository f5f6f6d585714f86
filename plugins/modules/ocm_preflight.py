#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_preflight
short_description: Check the Open Cluster Management hub before a deployment
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reports kinds that the hub does not serve, features that are disabled or not supported by its API, missing rights,
    an add-on of the same name that belongs to someone else, one of a federation of the same name in another namespace,
    and cluster sets that do not exist or are not bound.
  - The supported features are determined from the schema that the hub serves.
  - This module is a step of the role C(federated.flower.ocm_addon). Its options may change in any release.
options:
  spec:
    description:
      - The specification, as assembled by the role C(federated.flower.ocm_addon).
    type: dict
    required: true
  claim:
    description:
      - Whether an add-on of a federation of this name in another namespace may be taken over.
    type: bool
    default: false
  sites:
    description:
      - Sites of the inventory. A warning names those to which the hub still delivers in a former cluster.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Check the hub
  federated.flower.ocm_preflight:
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: Summary of the findings.
  returned: always
  type: str
install:
  description: The add-on's install strategy.
  returned: success
  type: str
predicates:
  description: Predicates of the add-on's Placement.
  returned: success
  type: list
  elements: dict
cluster_sets:
  description: Cluster sets that the Placement selects from.
  returned: success
  type: list
  elements: str
set_labels:
  description: Name and label selector of the hub's cluster sets that select clusters by any labels.
  returned: success
  type: dict
tolerations:
  description: Tolerations of the Placement.
  returned: success
  type: list
  elements: dict
"""
