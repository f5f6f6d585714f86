#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_allocate
short_description: Assign partition numbers to the sites of a play
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reads from the hub the values that it publishes for sites, and from the ledger the partitions of each site.
    Assigns a range to new and grown pools that use C({partition}).
  - >-
    The ledger is written with optimistic locking, so two control nodes never assign the same number to two sites.
    Existing sites keep their numbers.
  - Works on all sites at once. Use it with C(run_once).
  - This module is a step of the role C(federated.flower.supernode). Its options may change in any release.
options:
  sites:
    description:
      - Inventory names of the sites. Their pools are read from their variable C(supernode_pools).
    type: list
    elements: str
    required: true
  default_pools:
    description:
      - Pools of a site that does not set this variable.
    type: list
    elements: dict
    required: true
  partitions:
    description:
      - A fixed number of partitions for the whole fleet. Without it, the highest number in use plus one.
    type: int
  repartition:
    description:
      - Whether existing sites adopt a changed number of partitions. This restarts their pods.
    type: bool
    default: false
  renew:
    description:
      - Valid keys that the sites must replace. They are returned in C(dead). V(keys) are the keys of the
        SuperNodes, unless some of them are being replaced already. V(client) is the key of the client certificate.
    type: list
    elements: str
    choices: [keys, client]
    default: []
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
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
- name: Assign partitions to every site
  federated.flower.supernode_allocate:
    hub: hub
    sites: "{{ ansible_play_hosts }}"
    default_pools: []
  run_once: true
  register: ledger
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
publication:
  description: >-
    Values that the hub publishes: C(address), C(ca_bundle), C(server_name), C(version), C(federation), C(namespace).
  returned: success
  type: dict
identity:
  description: Identity of the hub, which its ledger holds. A site's namespace notes whose it is by it.
  returned: success
  type: str
sites:
  description: >-
    For each site C(allocation) (pool to C(offset) and C(partitions)), C(dead) (fingerprints of keys that Flower no
    longer accepts) and C(fault) (why this site cannot be served; other sites are served).
  returned: success
  type: dict
"""
