#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_info
short_description: Return the state of a site
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Reads the pools and, if something is not ready, their pods.
  - If the cluster cannot be reached, the task does not fail. See RV(reachable).
  - This module is public. Changes of its options follow semantic versioning.
options:
  namespace:
    description:
      - Namespace of the SuperNodes.
    type: str
    default: flower
  timeout:
    description:
      - Seconds to wait for a response of the API server.
    type: int
    default: 10
  skupper:
    description:
      - Whether the site connects through Skupper. If V(true), its state in the network is returned, too.
    type: bool
    default: false
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
- name: Read the state of a site
  federated.flower.supernode_info:
  register: supernode
"""

RETURN = r"""
reachable:
  description: Whether the cluster responded.
  returned: always
  type: bool
error:
  description: Error of the cluster.
  returned: always
  type: str
workloads:
  description: The pools with C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
clientapps:
  description: ClientApps in their own pods, with C(pool), C(image), C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
trouble:
  description: Reasons why pods are not ready.
  returned: always
  type: str
skupper:
  description: O(skupper).
  returned: always
  type: bool
network:
  description: >-
    The Skupper network as seen from the site: C(site), C(links), C(listeners). Empty without O(skupper).
  returned: always
  type: dict
"""
