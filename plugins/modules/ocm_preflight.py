#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_preflight
short_description: Look at the hub of Open Cluster Management before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Names kinds that the hub does not serve, features that are disabled or that its API does not know, rights that are missing, an
    add-on of that name that is somebody else's, and cluster sets that are not there or not bound.
  - What its API knows is decided from the schema that it serves.
options:
  spec:
    description:
      - The specification, as the role C(federated.flower.ocm_addon) assembles it.
    type: dict
    required: true
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
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Look at the hub
  federated.flower.ocm_preflight:
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: What was found, in a sentence.
  returned: always
  type: str
install:
  description: The add-on's install strategy.
  returned: success
  type: str
predicates:
  description: Predicates of its Placement.
  returned: success
  type: list
  elements: dict
cluster_sets:
  description: Cluster sets that it chooses from.
  returned: success
  type: list
  elements: str
"""
