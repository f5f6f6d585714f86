#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_reply
short_description: Import the key reply of a bundle site
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads the file that a site sent back after it applied its bundle (C(flower_delivery=bundle)), which is its ConfigMap C(supernode-public):
    public keys, a certificate request, and what they are bound to. Verifies that it answers the current version of the bundle of a site of this run,
    that every key in it has signed it, and stores it on the hub.
  - >-
    M(federated.flower.supernode) then registers the keys, signs the client certificate, and writes the next version of the bundle.
  - This module is public. Changes of its options follow semantic versioning.
options:
  hub_namespace:
    description: Namespace of the SuperLink. Defaults to the variable C(superlink_namespace) or C(flower_namespace) of the hub, else V(flower).
    type: str
  file:
    description: The file that the site sent, JSON or YAML.
    type: path
    required: true
  fingerprint:
    description: >-
      The fingerprint that the administrators of the site report. If it is set, a reply with another fingerprint is refused. Required for a site
      that has lost the key of its client certificate.
    type: str
    default: ""
  sites:
    description: Sites whose replies are accepted.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - federated.flower.hub.federation
  - federated.flower.hub.name
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.supernode
"""

EXAMPLES = r"""
---
- name: Import the key reply of a bundle site
  federated.flower.bundle_reply:
    hub: hub
    file: /srv/replies/hospital.json
    fingerprint: A31F 0C44 9B1E 77D0 52C8 1F3A 6E90 D4B7
    sites: "{{ groups.flower_sites }}"
  register: reply
"""

RETURN = r"""
msg:
  description: What was imported.
  returned: always
  type: str
site:
  description: Inventory name of the site.
  returned: success
  type: str
version:
  description: Version of the bundle that it answers.
  returned: success
  type: int
fingerprint:
  description: Fingerprint of the reply.
  returned: success
  type: str
"""
