#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check the hub before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reaches the cluster, checks that the identity has the rights that a deployment takes, and names each verb,
    resource and namespace that is missing.
  - >-
    Checks the certificate that its gateway is going to serve as far as it is there: key, names that sites
    verify, chain, validity; and that cert-manager and the issuer are there, where they are to sign.
  - >-
    Compares the clocks of control node and hub by the C(Date) of its API server's answers. M(federated.flower.supernode_preflight) does
    all this for sites.
options:
  spec:
    description:
      - The specification, as the role C(federated.flower.superlink) assembles it.
    type: dict
    required: true
  works:
    description:
      - What the identity is going to do. Rights that only other works need are not asked for.
    type: list
    elements: str
    choices:
      - deploy
      - rotate
      - teardown
    default:
      - deploy
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
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Check the hub
  federated.flower.preflight:
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
version:
  description: Version of the API server.
  returned: success
  type: str
skew:
  description: Seconds by which the API server's clock is ahead of the control node's, good to about a second.
  returned: success
  type: float
certificate:
  description: >-
    Facts of the certificate that the gateway is going to serve, as M(federated.flower.certificates) returns
    them; empty while it is not there.
  returned: success
  type: dict
"""
