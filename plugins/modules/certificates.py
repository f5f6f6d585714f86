#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: certificates
short_description: Make or fetch the hub's certificates and shared secrets
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Finds out under which address sites reach the SuperLink, and makes the Secrets that are missing or no longer
    good: the SuperLink's internal certificates, the secret it shares with the ServerApp, and what the gateway shows to
    sites, as the C(certificates_source) of the specification says.
  - >-
    C(builtin) issues the gateway's certificate from a CA in a namespace of its own, or from one that is handed in: anew
    when it does not cover a name, was issued by another CA, or is due to be renewed. A CA is made only where there is
    none. C(cert_manager) has a Certificate of cert-manager there and waits until it is ready. C(existing) takes a
    Secret or values.
  - >-
    Before anything is written, the certificate is checked as sites would: key, names, chain, validity by the clocks of
    the control node and of the hub.
  - >-
    When sites do not trust the CA of a new certificate yet, the gateway keeps the one it has, and both CAs are published.
    The next run goes on from there.
  - >-
    Writes the ConfigMap C(superlink-clients), by which the gateway judges the sites' client certificates: their CA,
    the list of revoked ones and the names of denied sites, as the ledger has them.
  - Private keys go into Secrets. They are in no result, diff or message.
options:
  spec:
    description:
      - The specification of the SuperLink, as the role C(federated.flower.superlink) assembles it.
    type: dict
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
  forget_cas:
    description:
      - Whether sites stop trusting the CAs of earlier certificates that are not in use any longer.
    type: bool
    default: false
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
names:
  description: Names that a certificate made for the gateway has.
  returned: success
  type: list
  elements: str
certificate:
  description: >-
    The certificate that the gateway serves: C(source), C(name) and C(namespace) of its Secret, C(subject), C(issuer),
    C(serial), C(not_before), C(not_after), C(names) and C(fingerprint). In check mode only what is known already.
  returned: success
  type: dict
trust:
  description: Each certificate of RV(ca_bundle) with the same facts.
  returned: success
  type: list
  elements: dict
certificates:
  description: Internal certificates with the same facts.
  returned: success
  type: list
  elements: dict
objects:
  description: What became of each Secret.
  returned: success
  type: list
  elements: dict
"""
