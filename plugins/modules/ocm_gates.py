#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_gates
short_description: Enable features of an Open Cluster Management hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Enables features in the hub's ClusterManager that are disabled by default, and waits until its operator has
    applied them. Features that are already listed there are not changed. If the list was changed concurrently, it is
    read again.
  - A hub without a ClusterManager is not changed.
  - This module is a step of the role C(federated.flower.ocm_addon). Its options may change in any release.
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
"""

EXAMPLES = r"""
---
- name: Enable the delivery of ClientApps
  federated.flower.ocm_gates:
    features: [ManifestWorkReplicaSet]
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
"""
