#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: remove
short_description: Take a deployment out of a cluster
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Deletes all objects of an ApplySet, and on wish the secrets and records that belong to it.
  - >-
    What is deleted is chosen by the labels of the federation and of the part of it that O(applyset) names, and only what this
    collection wrote is deleted. So a hub and a site may share a namespace. A deployment of another federation, of another hub or
    of another host of the inventory is refused.
  - >-
    Volume claims and the audit trail are deleted only when told. A namespace is deleted only when this collection created it for
    this federation, when nothing is in it that is not to be deleted, and when the right to delete it is there. In one that
    stays, secrets and records are deleted one by one.
  - >-
    Keys that a site made itself go with the ConfigMap C(supernode-keys-owner), to which they belong, so no right on
    Secrets is needed.
options:
  namespace:
    description:
      - The namespace.
    type: str
    required: true
  applyset:
    description:
      - Name of the set, as given to M(federated.flower.apply); and so which part of the federation is meant, the hub or a site.
    type: str
    choices: [superlink, supernode]
    required: true
  federation:
    description:
      - Name of the federation. Objects of another one stay.
    type: str
    default: flower
  credentials:
    description:
      - Whether secrets and records that this collection made go as well, and namespaces that nothing else needs.
    type: bool
    default: false
  volumes:
    description:
      - Whether volume claims and the audit trail go as well. Their data is lost.
    type: bool
    default: false
  ca_namespace:
    description:
      - For the hub, the namespace of the CA keys, which go as well. Empty where they stay.
      - It stays with all that is in it while another hub has its CA keys there.
    type: str
    default: ""
  hub:
    description:
      - For a site, the inventory name of its hub, to see whether the site is that hub's.
    type: str
    default: ""
  hub_namespace:
    description:
      - Namespace of the SuperLink.
    type: str
    default: flower
  claim:
    description:
      - Whether the deployment of another owner is taken away.
    type: bool
    default: false
  skupper:
    description:
      - Whether the cluster is part of a Skupper network. A namespace with objects of Skupper that somebody else made stays.
    type: bool
    default: false
  key_source:
    description:
      - Who made the keys that are in the namespace, as given to the role.
    type: str
    choices: [controller, site]
    default: controller
  wait_timeout:
    description:
      - Seconds to wait until the objects are gone.
    type: int
    default: 300
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
- name: Remove the SuperNodes of a site
  federated.flower.remove:
    namespace: flower
    applyset: supernode
    credentials: true
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
objects:
  description: What was deleted.
  returned: success
  type: list
  elements: dict
"""
