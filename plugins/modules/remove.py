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
    Volume claims and the audit trail are deleted only when told. A namespace is deleted only when it was made by this
    collection, when it holds neither or they are to be deleted, and when the right to delete it is there. In one that
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
      - Name of the set, as given to M(federated.flower.apply).
    type: str
    required: true
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
  more_namespaces:
    description:
      - More namespaces to treat like O(namespace), with nothing in them but secrets and network policies.
    type: list
    elements: str
    default: []
  skupper:
    description:
      - Whether the cluster is part of a Skupper network. A namespace with objects of Skupper that somebody else made stays.
    type: bool
    default: false
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
