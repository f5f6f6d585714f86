#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_allocate
short_description: Give the sites of a play their partition numbers
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reads from the hub what it publishes for sites, and from the ledger which site has which partitions. Gives new
    or grown pools that use C({partition}) their range.
  - >-
    The ledger is written with optimistic locking, so two controllers at once never give two sites the same
    number. Sites that have joined keep theirs.
  - Asks for all sites at once; run it with C(run_once).
options:
  sites:
    description:
      - Inventory names of the sites. Their pools are read from their variable C(supernode_pools).
    type: list
    elements: str
    required: true
  default_pools:
    description:
      - Pools of a site that has no such variable.
    type: list
    elements: dict
    required: true
  partitions:
    description:
      - A fixed number of partitions for the whole fleet. Without it, the highest number in use plus one.
    type: int
  repartition:
    description:
      - Whether sites that have joined take over a changed number of partitions. That restarts their pods.
    type: bool
    default: false
  renew:
    description:
      - Keys that the sites have to replace although they are good; they are told among C(dead). V(keys) are those of the
        SuperNodes, unless some of them are being replaced already, V(client) that of the client certificate.
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
- name: Give every site its partitions
  federated.flower.supernode_allocate:
    hub: hub
    sites: "{{ ansible_play_hosts }}"
    default_pools: []
  run_once: true
  register: ledger
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
publication:
  description: >-
    What the hub publishes: C(address), C(ca_bundle), C(server_name), C(version), C(federation), C(namespace).
  returned: success
  type: dict
sites:
  description: >-
    For each site C(allocation) (pool to C(offset) and C(partitions)), C(dead) (fingerprints of keys that Flower takes no more) and
    C(fault) (why this site cannot be served; others are served nevertheless).
  returned: success
  type: dict
"""
