#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: trust_proof
short_description: Update the CA bundle of a site and test which certificates its SuperNodes accept
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Writes the CA bundle to the ConfigMap of the site, if it differs, and tests which certificates of the gateway
    every SuperNode accepts: its sidecar opens a new connection with the CA bundle that it has loaded. Without a
    sidecar, the test performs the handshake in the SuperNode's pod with its CA bundle, and compares the age of its
    process to decide whether it has read that bundle.
  - A site that cannot be reached, or whose SuperNodes reject a certificate, does not fail this task. See RV(trouble).
  - This module is a step of the role C(federated.flower.cert_rotation). Its options may change in any release.
options:
  namespace:
    description:
      - Namespace of the site's SuperNodes.
    type: str
    default: flower
  site:
    description:
      - The site's entry in C(fleet) of M(federated.flower.rotation).
    type: dict
    default: {}
  server_name:
    description:
      - Name under which the gateway serves sites.
    type: str
    required: true
  wanted:
    description:
      - C(now) and C(next) with the serials that the gateway should present. An empty serial matches any certificate.
    type: dict
    required: true
  bundle:
    description:
      - The wanted CA bundle of the site, PEM. Empty to keep the current one.
    type: str
    default: ""
  own_bundle:
    description:
      - Whether the inventory sets the CA bundle of the site, so that it must not be changed.
    type: bool
    default: false
  because:
    description:
      - Error of an earlier step, to be included in RV(trouble).
    type: str
    default: ""
  first:
    description:
      - >-
        Whether this is the first test of the site. It then fails if rights are missing that the rest of the rotation needs.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait until the SuperNodes accept the wanted certificates.
    type: int
    default: 120
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
- name: Test every SuperNode
  federated.flower.trust_proof:
    site: "{{ look.fleet[inventory_hostname] }}"
    server_name: "{{ look.server_name }}"
    wanted: "{{ look.wanted }}"
  register: proof
"""

RETURN = r"""
msg:
  description: Summary of the findings.
  returned: always
  type: str
site:
  description: Inventory name of the site.
  returned: success
  type: str
trust:
  description: The current CA bundle of the site, PEM. Not set if the site could not be reached.
  returned: success
  type: str
pods:
  description: >-
    For each running SuperNode C(pod), C(pool), C(name), C(seen) (C(now) and C(next) with C(serial) or C(error)),
    C(stale) and C(error).
  returned: success
  type: list
  elements: dict
accepts:
  description: Serials that every expected SuperNode accepts.
  returned: success
  type: list
  elements: str
stale:
  description: Whether a SuperNode still uses the CA bundle of its start and must be restarted.
  returned: success
  type: bool
trouble:
  description: The fault. Empty if there is none.
  returned: success
  type: str
"""
