#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_keys
short_description: Create the SuperNode keys and shared secrets of a site
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Creates a key for each replica, or each node of a DaemonSet pool, that has none, the key of the site's client
    certificate, and the secrets that the pods of the site share. Writes them to Secrets of the site's cluster.
  - >-
    Private keys do not appear in results, diffs or messages. Keys that are no longer wanted are kept until
    M(federated.flower.supernode_confirm) deletes them.
  - >-
    With C(key_source: site) in the specification a Job in the site's cluster creates them, and the keys never leave
    it. The control node then reads the public keys from the ConfigMap C(supernode-public) and needs no right on
    Secrets there.
  - This module is a step of the role C(federated.flower.supernode). Its options may change in any release.
options:
  hub:
    description:
      - Inventory name of the hub. Required if C(delivery) of the specification is V(ocm). The site is then reached through it.
    type: str
  spec:
    description:
      - The specification of the site, as assembled by the role C(federated.flower.supernode).
    type: dict
    required: true
  allocation:
    description:
      - C(offset) by pool, from M(federated.flower.supernode_allocate).
    type: dict
    default: {}
  dead:
    description:
      - Fingerprints of keys to replace.
    type: list
    elements: str
    default: []
  fault:
    description:
      - Why the hub cannot serve this site, from M(federated.flower.supernode_allocate). The task fails with it.
    type: str
    default: ""
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
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Create missing keys
  federated.flower.supernode_keys:
    spec: "{{ spec }}"
  register: keys
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
site:
  description: Inventory name of the site.
  returned: success
  type: str
region:
  description: Its region.
  returned: success
  type: str
keys:
  description: >-
    The wanted keys with C(pool), C(name), C(fingerprint), C(public_key) and C(expected) (whether a running pod is
    expected).
  returned: success
  type: list
  elements: dict
renewed:
  description: Secrets that all pods of the site share and that were lost, so that its pods have to be restarted.
  returned: success
  type: list
  elements: str
client_request:
  description: >-
    Signing request for the site's client certificate, PEM. It is public. Empty if the site's sidecars need none. Its
    bytes differ from run to run, its key does not.
  returned: success
  type: str
extra:
  description: Names of keys that are no longer wanted, by pool.
  returned: success
  type: dict
objects:
  description: Result for each Secret.
  returned: success
  type: list
  elements: dict
"""
