#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: certificates
short_description: Make the hub's CA, certificates and shared secrets
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Finds out under which address sites reach the SuperLink, and makes the Secrets that are missing or no longer
    good: CAs in a namespace of their own, the gateway's certificate for every name that sites use, the SuperLink's
    internal certificates and the secret it shares with the ServerApp.
  - >-
    Writes the ConfigMap C(superlink-clients), by which the gateway judges the sites' client certificates: their CA,
    the list of revoked ones and the names of denied sites, as the ledger has them.
  - >-
    The gateway's certificate is issued anew when it does not cover a name, was issued by another CA, or more than
    half of its lifetime is over. A CA is made only where there is none.
  - Private keys go into Secrets. They are in no result, diff or message.
options:
  spec:
    description:
      - The specification of the SuperLink, as the role C(federated.flower.superlink) assembles it.
    type: dict
    required: true
  ca_namespace:
    description:
      - Namespace of the CA keys.
    type: str
    required: true
  ca_lifetime_days:
    description:
      - Lifetime of a CA in days.
    type: int
    default: 3650
  client_lifetime_days:
    description:
      - Lifetime of the sites' client certificates in days. M(federated.flower.supernode_register) issues them.
    type: int
    default: 90
  wait_timeout:
    description:
      - Seconds to wait for a certificate that somebody else issues.
    type: int
    default: 300
extends_documentation_fragment:
  - federated.flower.certificates
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
- name: Make what is missing
  federated.flower.certificates:
    spec: "{{ spec }}"
    ca_namespace: flower-ca
  register: certificates
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
address:
  description: The C(host:port) that sites dial.
  returned: success
  type: str
host:
  description: The host of it.
  returned: success
  type: str
ca_bundle:
  description: What sites trust, PEM.
  returned: success
  type: str
secret:
  description: Name of the Secret with the certificate and key that the gateway serves.
  returned: success
  type: str
certificates:
  description: >-
    Each certificate with C(name), C(namespace), C(subject), C(issuer), C(serial), C(not_before), C(not_after),
    C(names) and C(fingerprint).
  returned: success
  type: list
  elements: dict
objects:
  description: What became of each Secret.
  returned: success
  type: list
  elements: dict
"""
