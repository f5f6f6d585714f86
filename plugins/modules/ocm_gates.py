#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_gates
short_description: Enable features of a hub of Open Cluster Management
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Enables features that are off by default in the hub's ClusterManager, and waits until its operator has taken them over. Features that
    are listed there stay as they are; a list that somebody changed meanwhile is read again.
  - A hub without a ClusterManager is left alone.
options:
  features:
    description:
      - Names of the features.
    type: list
    elements: str
    choices: [ManifestWorkReplicaSet]
    required: true
  wait_timeout:
    description:
      - Seconds to wait for the operator.
    type: int
    default: 300
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
- name: Enable what delivers ClientApps
  federated.flower.ocm_gates:
    features: [ManifestWorkReplicaSet]
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
"""
