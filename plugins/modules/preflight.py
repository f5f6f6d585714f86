#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Look at a cluster before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reaches the cluster, checks that the identity has the rights that a deployment takes, and names each verb,
    resource and namespace that is missing.
  - Warns when a pool asks for a GPU that no node has.
  - >-
    For the hub, checks the certificate that its gateway is going to serve as far as it is there: key, names that sites
    verify, chain, validity; and that cert-manager and the issuer are there, where they are to sign.
  - >-
    Compares the clocks of control node, hub and site by the C(Date) of their API servers' answers. A site whose clock
    would have its SuperNodes or the gateway's certificate refused is an error.
options:
  part:
    description:
      - What is going to be deployed.
    type: str
    choices:
      - superlink
      - supernode
    required: true
  spec:
    description:
      - The specification, as the role of that name assembles it.
    type: dict
    required: true
  hub:
    description:
      - For O(part=supernode), what this module returned for the hub; empty if it was not looked at.
    type: dict
    default: {}
  ocm:
    description:
      - >-
        For O(part=supernode) of a site that is reached through Open Cluster Management, C(hub), the inventory name of its hub, and
        C(addon), what M(federated.flower.ocm_preflight) returned. The site's own API server is not asked then; what keeps objects
        from it is named, and how it is mended.
    type: dict
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
- name: Look at a site
  federated.flower.preflight:
    part: supernode
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
version:
  description: Version of the API server.
  returned: success, when a cluster was asked itself
  type: str
skew:
  description: Seconds by which the API server's clock is ahead of the control node's, good to about a second.
  returned: success
  type: float
certificate:
  description: >-
    For the hub, facts of the certificate that its gateway is going to serve, as M(federated.flower.certificates) returns
    them; empty while it is not there.
  returned: success
  type: dict
skupper:
  description: For the hub, whether sites reach it through a Skupper network.
  returned: success, when a cluster was asked itself
  type: bool
"""
