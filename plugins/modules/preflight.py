#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Look at a cluster before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reaches the cluster, checks that the identity has the rights that a deployment takes, and names each verb,
    resource and namespace that is missing.
  - Warns when a pool asks for a GPU that no node has.
options:
  part:
    description:
      - What is going to be deployed.
    type: str
    choices:
      - superlink
      - supernode
    required: true
  spec:
    description:
      - The specification, as the role of that name assembles it.
    type: dict
    required: true
  ca_namespace:
    description:
      - Namespace of the CA keys, for O(part=superlink).
    type: str
    default: flower-ca
  works:
    description:
      - What the identity is going to do. Rights that only other works need are not asked for.
    type: list
    elements: str
    choices:
      - deploy
      - rotate
      - teardown
    default:
      - deploy
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
- name: Look at a site
  federated.flower.preflight:
    part: supernode
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
version:
  description: Version of the API server.
  returned: success
  type: str
"""
