#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_confirm
short_description: Fail a site whose SuperNodes are not online
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Fails, with the state of the pods, when a wanted SuperNode of this site is not online at the SuperLink.
  - A denied site (M(federated.flower.site_access)) does not fail; a warning says that it is denied.
  - >-
    Deletes keys from the site's Secrets that are no longer wanted and unregistered. A site where nothing is wrong
    and nothing to do is not contacted.
options:
  hub:
    description:
      - Inventory name of the hub. Needed where C(delivery) of the specification is V(ocm); the site is reached through it then.
    type: str
  namespace:
    description:
      - Namespace of the SuperNodes.
    type: str
    default: flower
  report:
    description:
      - This site's part of the result of M(federated.flower.supernode_online).
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
      - Pool to names of keys to delete, from M(federated.flower.supernode_keys).
    type: dict
    default: {}
  spec:
    description:
      - The specification of the site. A site that makes its keys itself needs it to delete them.
    type: dict
    default: {}
  wait_timeout:
    description:
      - Seconds that a job at the site may take.
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
  description: What was done, in a sentence.
  returned: always
  type: str
"""
