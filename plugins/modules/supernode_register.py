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
    Waits for the SuperLink, registers all public keys that it does not know in one request, and records the node ids
    in the ledger.
  - >-
    Keys that the SuperLink lost with its database are registered again. Keys that were unregistered by hand are dead,
    because Flower never accepts them again.
  - >-
    Issues the client certificates by which the gateway identifies the sites: for a key without a certificate, and if
    the certificate is in the second half of its lifetime, names another site or federation, was revoked, or was
    issued by another CA. The hub signs requests. The private keys stay at the sites.
  - Works on all sites at once. Use it with C(run_once).
  - This module is a step of the role C(federated.flower.supernode). Its options may change in any release.
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
  description: Summary of what was done.
  returned: always
  type: str
registered:
  description: Number of registered keys.
  returned: success
  type: int
issued:
  description: The reason for each site that got a new client certificate.
  returned: success
  type: dict
sites:
  description: >-
    For each site C(nodes) (keys in use), C(leaving), C(dead), C(client_certificate) (PEM), C(restart) (whether its pods may run with
    another key than the one that is registered) and C(fault) (why its keys are refused; other sites are registered nevertheless).
  returned: success
  type: dict
"""
