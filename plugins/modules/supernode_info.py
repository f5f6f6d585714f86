#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_info
short_description: What runs in the cluster of a site
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Reads the pools and, where something is not ready, their pods.
  - A cluster that is down is an answer, not a failure.
options:
  namespace:
    description:
      - Namespace of the SuperNodes.
    type: str
    default: flower
  timeout:
    description:
      - Seconds to wait for an answer of the API server.
    type: int
    default: 10
  skupper:
    description:
      - Whether the site is reached through Skupper, so that its place in the network is looked at, too.
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
- name: Ask a site
  federated.flower.supernode_info:
  register: supernode
"""

RETURN = r"""
reachable:
  description: Whether the cluster answered.
  returned: always
  type: bool
error:
  description: Why it did not.
  returned: always
  type: str
workloads:
  description: The pools with C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
clientapps:
  description: Those in pods of their own, with C(pool), C(image), C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
trouble:
  description: Why pods are not ready.
  returned: always
  type: str
skupper:
  description: O(skupper).
  returned: always
  type: bool
network:
  description: >-
    The Skupper network as the site sees it: C(site), C(links), C(listeners). Empty without O(skupper).
  returned: always
  type: dict
"""
