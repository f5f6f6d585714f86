#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_register
short_description: Register the keys of sites at the SuperLink
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Waits for the SuperLink, registers all public keys that it does not know in one go, and notes the node ids in
    the ledger.
  - >-
    Keys that the SuperLink lost with its database are registered again. Keys that somebody unregistered are dead,
    because Flower never takes them again.
  - >-
    Issues the client certificates by which the gateway knows the sites: for a key without one, in the second half
    of its lifetime, when it names another site or federation, was revoked or was issued by another CA. The hub
    signs requests; the sites' private keys stay where they are.
  - Asks for all sites at once; run it with C(run_once).
options:
  sites:
    description:
      - Results of M(federated.flower.supernode_keys).
    type: list
    elements: dict
    required: true
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.hub.wait
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
- name: Register the keys
  federated.flower.supernode_register:
    hub: hub
    sites: "{{ ansible_play_hosts | map('extract', hostvars, 'keys') }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
registered:
  description: How many keys were registered.
  returned: success
  type: int
issued:
  description: For each site that got a new client certificate, why.
  returned: success
  type: dict
sites:
  description: >-
    For each site C(nodes) (keys in use), C(leaving), C(dead), C(client_certificate) (PEM), C(restart) (whether its pods may run with
    another key than the one that is registered) and C(fault) (why its keys are refused; other sites are registered nevertheless).
  returned: success
  type: dict
"""
