#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Tell the audit trail what this run has changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Every module of this collection that changes a cluster notes, during a run, what it changed: objects with the hash of what was
    applied, serials of certificates, fingerprints of keys. This module adds all of that as one entry to the audit trail
    of the federation, a chain of hashes in config maps of the hub, see
    R(the guide,ansible_collections.federated.flower.docsite.guide_audit).
  - It is meant as the last task of a playbook, with C(run_once). It may be used several times in a playbook; each entry tells
    what was changed since the one before.
  - When nothing was changed it adds nothing, and asks nobody. A run in check mode adds nothing.
  - An entry names the hosts that failed, but a run that fails without having changed anything adds none.
  - >-
    When an earlier run on the same federation by the same user of the same control node was killed before it could record what
    it changed, this module adds an entry for it first, as far as Ansible's temporary folder (E(ANSIBLE_LOCAL_TEMP)) is
    still there.
  - Nothing secret is recorded. Of a Secret it is told that it was written, without a hash.
options:
  hub:
    description:
      - Inventory name of the hub. Defaults to the first host of the group that the variable C(flower_hub_group) names, C(flower_hub)
        without it.
    type: str
  hub_namespace:
    description:
      - Namespace of the SuperLink in the hub's cluster. Defaults to the variable C(flower_namespace), else V(flower).
    type: str
  federation:
    description:
      - Name of the federation. Defaults to the variable C(flower_federation), else V(flower).
    type: str
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
notes:
  - Needs the rights to get, create and update C(configmaps) in the hub's namespace, and to create C(selfsubjectreviews) of the group
    C(authentication.k8s.io), which Kubernetes gives to every user. Without the latter, or before Kubernetes 1.28, the entry says that
    the Kubernetes user is not known.
  - >-
    A playbook ends when all its hosts, or all of a batch, have failed. To record what was changed up to there, use the module in
    an C(always) section with C(when) set to C(ansible_play_batch | length == 0).
seealso:
  - module: federated.flower.audit_info
"""

EXAMPLES = r"""
---
- name: Record what changed
  federated.flower.audit:
  run_once: true
"""

RETURN = r"""
msg:
  description: How many entries the trail has, and the hash of the last one.
  returned: always
  type: str
added:
  description: Numbers of the new entries. There are several for a large fleet, and after a run that was interrupted.
  returned: when entries were added
  type: list
  elements: int
  sample: [17]
hash:
  description: Hash of the last entry. Note it outside of the hub, see the option C(anchors) of M(federated.flower.audit_info).
  returned: when entries were added
  type: str
  sample: 2f0c1a7d9c4e6b8a0d1e2f3a4b5c6d7e8f90112233445566778899aabbccddee
unrecorded:
  description: What could not be recorded.
  returned: when the trail could not be written
  type: list
  elements: dict
"""
