#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check the hub before a deployment
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Connects to the cluster, checks the rights of the identity, and reports the verb, resource and namespace of every
    missing right.
  - >-
    Asks the API server by a server-side dry run whether it accepts the objects, if a workload is new or changes. Objects of a namespace
    that does not exist yet are tried in C(default), and only errors of the objects themselves count. Refuses a cluster whose Services get
    only IPv6 addresses.
  - >-
    Checks the certificate that the gateway is going to serve, as far as it exists: key, names that sites
    verify, chain and validity. If cert-manager issues it, checks that cert-manager and the issuer are available.
  - >-
    Refuses what replaces the pod in which ServerApps run, such as another image or tracking server, and to switch outputs on or off, while
    runs are active, because these would fail. In check mode it is a warning.
  - Refuses a hub that does not serve, and one whose restore was interrupted.
  - Refuses a hub without client certificates while a site is denied, which its gateway could not recognize.
  - Refuses sites that verify a name by which an Ingress or Route of the hub does not find the gateway.
  - >-
    Compares the clocks of the control node and the hub, from the C(Date) header of its API server.
    M(federated.flower.supernode_preflight) checks sites.
  - This module is a step of the role C(federated.flower.superlink). Its options may change in any release.
options:
  spec:
    description:
      - The specification, as assembled by the role C(federated.flower.superlink). By default, the one that the role of the task
        assembles; a variable whose template cannot be evaluated is then named.
    type: dict
  works:
    description:
      - Tasks that the identity is going to perform. Rights for other tasks are not checked.
    type: list
    elements: str
    choices:
      - deploy
      - rotate
      - teardown
    default:
      - deploy
  serverapp_force:
    description:
      - Whether the pod in which ServerApps run may be replaced while runs are active. These fail.
    type: bool
    default: false
  standby:
    description:
      - Whether the hub does not serve yet, and is going to after a failover. Then it is not refused for that.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.certificates
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Check the hub
  federated.flower.preflight:
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
version:
  description: Version of the API server.
  returned: success
  type: str
platform:
  description: What the cluster is, V(kubernetes) or V(openshift).
  returned: success, when a cluster was asked itself
  type: str
namespace:
  description: Namespace of the SuperLink.
  returned: success, when a cluster was asked itself
  type: str
identity:
  description: For the hub, the identity that its ledger holds; V(new) where there is no ledger yet.
  returned: success, when a cluster was asked itself
  type: str
skew:
  description: Seconds by which the API server's clock is ahead of the control node's, accurate to about a second.
  returned: success
  type: float
rehearsed:
  description: Whether the API server was asked by a dry run, because a workload is not there yet or is going to change.
  returned: success, when a cluster was asked itself
  type: bool
flower:
  description: What the variables deploy, C(version) and C(workloads) with the images of their containers.
  returned: success
  type: dict
certificate:
  description: >-
    The certificate that the gateway is going to serve, as returned by M(federated.flower.certificates), and C(pem), itself with its chain.
    Empty if it does not exist yet.
  returned: success
  type: dict
client_certificates:
  description: For the hub, whether the gateway is going to request client certificates, V(required), V(optional) or V(none).
  returned: success, when a cluster was asked itself
  type: str
skupper:
  description: For the hub, whether sites reach it through a Skupper network.
  returned: success, when a cluster was asked itself
  type: bool
lost_sites:
  description: For the hub, sites whose own variables keep them from the gateway, with the fault of each.
  returned: success, when a cluster was asked itself
  type: dict
pod_security:
  description: For the hub, the Pod Security level that its Namespace is going to enforce, empty for none. Null where someone else creates it.
  returned: success, when a cluster was asked itself
  type: str
"""
