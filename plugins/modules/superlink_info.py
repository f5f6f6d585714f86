#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_info
short_description: What the hub knows of its federation
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Reads the ledger, the certificate, the pods and Flower's own lists of SuperNodes and runs.
  - A hub that is down is an answer, not a failure.
options:
  hub:
    description:
      - Inventory name of the hub; the host of the task without it.
    type: str
  namespace:
    description:
      - Namespace of the SuperLink.
    type: str
    default: flower
  federation:
    description:
      - Name of the federation.
    type: str
    default: flower
  timeout:
    description:
      - Seconds to wait for an answer of the API server.
    type: int
    default: 10
  wait_timeout:
    description:
      - Seconds to wait until the pods are ready.
    type: int
    default: 0
  skupper:
    description:
      - Whether sites are reached through Skupper, so that the network is looked at, too.
    type: bool
    default: false
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
- name: Ask the hub
  federated.flower.superlink_info:
    hub: hub
  register: superlink
"""

RETURN = r"""
reachable:
  description: Whether the cluster answered.
  returned: always
  type: bool
error:
  description: Why it did not, or what Flower said.
  returned: always
  type: str
deployed:
  description: Whether there is a SuperLink.
  returned: always
  type: bool
address:
  description: The C(host:port) that sites dial.
  returned: always
  type: str
version:
  description: Release of Flower.
  returned: always
  type: str
workloads:
  description: The workloads with C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
trouble:
  description: Why pods are not ready.
  returned: always
  type: str
certificate:
  description: >-
    The certificate that the gateway serves: C(secret) it is in, C(subject), C(issuer), C(serial), C(not_before),
    C(not_after), C(names), C(fingerprint), and C(fault), why sites refuse it. Empty where nothing is deployed.
  returned: always
  type: dict
trust:
  description: The CAs that sites were told to trust, with the same facts.
  returned: always
  type: list
  elements: dict
partitions:
  description: Partitions of the fleet.
  returned: always
  type: int
sites:
  description: >-
    The ledger, by site; C(access) says of a denied site since when and why, C(client) describes its client certificate.
  returned: always
  type: dict
nodes:
  description: Flower's SuperNodes, by node id.
  returned: always
  type: dict
runs:
  description: Flower's runs.
  returned: always
  type: list
  elements: dict
unknown_nodes:
  description: Node ids that the ledger does not know.
  returned: always
  type: list
  elements: str
network:
  description: >-
    The Skupper network as the hub sees it: C(site), C(linked) (site -> whether its link is up), C(listeners),
    C(connector), C(certificates)
    (public facts). Empty without O(skupper).
  returned: always
  type: dict
"""
