#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: certificates
short_description: Issue or read the hub's certificates and shared secrets
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Determines the address at which sites reach the SuperLink, and creates the Secrets that are missing or no longer
    valid: the SuperLink's internal certificates, the secret that it shares with the ServerApp, and the gateway's
    certificate, according to C(certificates_source) of the specification.
  - >-
    C(builtin) issues the gateway's certificate from a CA in its own namespace, or from a CA that the user provides.
    It issues a new certificate if the current one does not cover a name, was issued by another CA, or is due for
    renewal. A CA is created only if there is none. C(cert_manager) applies a Certificate of cert-manager and waits
    until it is ready. C(existing) uses a Secret or values.
  - >-
    Before anything is written, the certificate is checked as sites verify it: key, names, chain, and validity by the
    clocks of the control node and of the hub.
  - >-
    If sites do not trust the CA of a new certificate yet, the gateway keeps its current certificate, and both CAs are
    published. The next run continues from there.
  - >-
    Writes the ConfigMap C(superlink-clients), from which the gateway reads the CA of the sites' client certificates,
    the revocation list, and the names of denied sites, as recorded in the ledger.
  - Private keys are written to Secrets. They do not appear in results, diffs or messages.
  - This module is a step of the role C(federated.flower.superlink). Its options may change in any release.
options:
  spec:
    description:
      - The specification of the SuperLink, as assembled by the role C(federated.flower.superlink).
    type: dict
    required: true
  ca_lifetime_days:
    description:
      - Lifetime of a CA in days.
    type: int
    default: 3650
  client_lifetime_days:
    description:
      - Lifetime of the sites' client certificates in days. M(federated.flower.supernode) issues them.
    type: int
    default: 90
  forget_cas:
    description:
      - Whether to remove CAs of previous certificates that are no longer in use from the CA bundle of the sites.
    type: bool
    default: false
  tracking_credentials:
    description:
      - Credentials for the tracking server of the specification, C(token), or C(username) and C(password). They are written to the Secret
        C(superlink-tracking).
    type: dict
    default: {}
  wait_timeout:
    description:
      - Seconds to wait for a certificate from another issuer.
    type: int
    default: 300
extends_documentation_fragment:
  - federated.flower.certificates
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Issue missing certificates
  federated.flower.certificates:
    spec: "{{ spec }}"
    ca_namespace: flower-ca
  register: certificates
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
address:
  description: The C(host:port) that sites connect to.
  returned: success
  type: str
host:
  description: Host part of RV(address).
  returned: success
  type: str
ca_bundle:
  description: The CA bundle of the sites, PEM.
  returned: success
  type: str
secret:
  description: Name of the Secret with the certificate and key that the gateway serves.
  returned: success
  type: str
storage_size:
  description: The size with which the volume of the SuperLink's database was made, which its StatefulSet keeps. Empty if there is none yet.
  returned: success
  type: str
names:
  description: Names that a certificate for the gateway must cover.
  returned: success
  type: list
  elements: str
server_name:
  description: Name under which sites connect to the gateway, and against which they verify its certificate.
  returned: success
  type: str
certificate:
  description: >-
    The certificate that the gateway serves: C(source), C(name) and C(namespace) of its Secret, C(subject), C(issuer),
    C(serial), C(not_before), C(not_after), C(names) and C(fingerprint). In check mode only known values are returned.
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
  description: Result for each Secret.
  returned: success
  type: list
  elements: dict
"""
