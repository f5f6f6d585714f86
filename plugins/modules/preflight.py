#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check a cluster before a deployment
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Checks the variables: their values, that every variable with a prefix of this collection is one of its variables or is
    listed in C(flower_own_variables), that C(supernode_delivery) and C(supernode_connectivity) equal C(flower_delivery) and
    C(flower_connectivity), and that the inventory has one hub.
  - >-
    Connects to the cluster, checks the rights of the identity, and reports the verb, resource and namespace of every
    missing right.
  - >-
    Refuses what belongs to someone else: a namespace that the role creates and that this collection did not create;
    objects of others under names that the deployment uses; a namespace that contains another federation or a site of
    another hub; a namespace of CA keys that another hub uses; and two inventory hosts that are the same namespace of
    the same cluster.
  - >-
    Asks the API server by a server-side dry run whether it accepts the objects, if a workload is new or changes. Objects of
    a namespace that does not exist yet are tried in C(default), and only errors of the objects themselves count.
  - Warns if a pool requests a GPU that no node has.
  - >-
    For the hub, checks the certificate that its gateway is going to serve, as far as it exists: key, names that sites
    verify, chain and validity. If cert-manager issues it, checks that cert-manager and the issuer are available.
  - >-
    Compares the clocks of the control node, the hub and the site, from the C(Date) header of their API servers. It is
    an error if Flower or TLS would reject a site because of its clock.
  - >-
    This module is a step of the roles C(federated.flower.superlink) and C(federated.flower.supernode). Its options
    may change in any release.
options:
  part:
    description:
      - Part to deploy.
    type: str
    choices:
      - superlink
      - supernode
    required: true
  spec:
    description:
      - The specification, as assembled by the role of that name. By default, the one that the role of the task assembles;
        a variable whose template cannot be evaluated is then named.
    type: dict
  hub:
    description:
      - For O(part=supernode), the result of this module for the hub. Empty if the hub was not checked.
    type: dict
    default: {}
  claim:
    description:
      - Whether a site is taken over that holds the SuperNodes of another hub or of another host of the inventory.
    type: bool
    default: false
  ocm:
    description:
      - >-
        For O(part=supernode) of a site that Open Cluster Management delivers to: C(hub), the inventory name of its hub, and
        C(addon), the result of M(federated.flower.ocm_preflight). The site's own API server is not contacted. Everything that
        prevents the delivery is reported with its remedy.
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
- name: Check a site
  federated.flower.preflight:
    part: supernode
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
version:
  description: Version of the API server.
  returned: success, when a cluster was asked itself
  type: str
skew:
  description: Seconds by which the API server's clock is ahead of the control node's, accurate to about a second.
  returned: success
  type: float
identity:
  description: For the hub, the identity that its ledger holds; V(new) where there is no ledger yet.
  returned: success, when a cluster was asked itself
  type: str
rehearsed:
  description: Whether the API server was asked by a dry run, because a workload is not there yet or is going to change.
  returned: success, when a cluster was asked itself
  type: bool
certificate:
  description: >-
    For the hub, the certificate that its gateway is going to serve, as returned by M(federated.flower.certificates).
    Empty if it does not exist yet.
  returned: success
  type: dict
skupper:
  description: For the hub, whether sites reach it through a Skupper network.
  returned: success, when a cluster was asked itself
  type: bool
"""
