#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: remove
short_description: Remove the hub from its cluster
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Deletes all objects of the hub's ApplySet and, on request, the Secrets and records that belong to it. A site is removed with
    M(federated.flower.supernode).
  - >-
    Objects are selected by the labels of the federation and of the hub, and only objects that this collection wrote are
    deleted. So hub and site may share a namespace. A deployment of another federation is refused.
  - >-
    Volume claims and the audit trail are deleted only on request. A namespace is deleted only if this collection
    created it for this federation, if it contains nothing that is to be kept, and if the identity has the right to
    delete it. In a namespace that is kept, Secrets and records are deleted one by one.
  - This module is public. Changes of its options follow semantic versioning.
options:
  namespace:
    description: The namespace.
    type: str
    required: true
  federation:
    description: Name of the federation. Objects of another one stay.
    type: str
    default: flower
  credentials:
    description: Whether to delete the Secrets and records that this collection created, and namespaces that nothing else needs.
    type: bool
    default: false
  volumes:
    description: Whether to delete volume claims and the audit trail. Their data is lost.
    type: bool
    default: false
  ca_namespace:
    description:
      - The namespace of the CA keys, which are deleted as well. Empty to keep them.
      - It is kept with all its contents while another hub uses it for its CA keys.
    type: str
    default: ""
  claim:
    description: Whether to remove the deployment of another owner.
    type: bool
    default: false
  skupper:
    description: Whether the cluster is part of a Skupper network. A namespace with Skupper objects of others is kept.
    type: bool
    default: false
  wait_timeout:
    description: Seconds to wait until the objects are deleted.
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Remove the SuperLink
  federated.flower.remove:
    namespace: flower
    credentials: true
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
objects:
  description: The deleted objects.
  returned: success
  type: list
  elements: dict
"""
