#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_confirm
short_description: Check that the SuperNodes of a site are online and delete retired keys
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Fails, with the state of the pods, if a wanted SuperNode of this site is not online at the SuperLink.
  - A denied site (M(federated.flower.site_access)) does not fail. A warning reports it.
  - >-
    Deletes keys from the site's Secrets that are unregistered and no longer wanted. A site that is online and has no
    such keys is not contacted.
  - This module is a step of the role C(federated.flower.supernode). Its options may change in any release.
options:
  hub:
    description:
      - Inventory name of the hub. Required if C(delivery) of the specification is V(ocm). The site is then reached through it.
    type: str
  namespace:
    description:
      - Namespace of the SuperNodes.
    type: str
    default: flower
  report:
    description:
      - The entry of this site in the result of M(federated.flower.supernode_online).
    type: dict
    default: {}
  dead:
    description:
      - Fingerprints of dead keys, from M(federated.flower.supernode_register).
    type: list
    elements: str
    default: []
  fault:
    description:
      - Why the hub refused this site's keys, from M(federated.flower.supernode_register). The task fails with it.
    type: str
    default: ""
  extra:
    description:
      - Names of keys to delete, by pool, from M(federated.flower.supernode_keys).
    type: dict
    default: {}
  spec:
    description:
      - The specification of the site. Required to delete keys that the site created itself.
    type: dict
    default: {}
  wait_timeout:
    description:
      - Seconds to wait for a Job at the site.
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
- name: Confirm that the site is online
  federated.flower.supernode_confirm:
    report: "{{ online.sites[inventory_hostname] }}"
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
"""
