#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Record the changes of this run in the audit trail
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    During a run, every module of this collection that changes a cluster records its changes: objects with the hash of
    what was applied, serials of certificates, fingerprints of keys. This module adds them as one entry to the audit
    trail of the federation, a chain of hashes in ConfigMaps on the hub. See R(the
    guide,ansible_collections.federated.flower.docsite.guide_audit).
  - >-
    Use it as the last task of a playbook, with C(run_once). A playbook can use it several times. Each entry contains
    the changes since the previous one.
  - If nothing was changed, it adds no entry and contacts no cluster. A run in check mode adds no entry.
  - An entry lists the hosts that failed. A run that failed without changes adds no entry.
  - >-
    If an earlier run on the same federation, by the same user of the same control node, was killed before it recorded
    its changes, this module first adds an entry for that run. This requires that Ansible's temporary folder
    (E(ANSIBLE_LOCAL_TEMP)) still exists. What such a run left is kept until a run has recorded it.
  - No secrets are recorded. For a Secret, only the fact that it was written is recorded, without a hash.
  - This module is public. Changes of its options follow semantic versioning.
options:
  required:
    description:
      - Whether the task fails if the entry cannot be added. Otherwise it shows a warning, for identities that may not write the audit
        trail.
    type: bool
    default: true
extends_documentation_fragment:
  - federated.flower.hub.by_group
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the rights to get, create and update C(configmaps) in the hub's namespace, and to create C(selfsubjectreviews) of the group
    C(authentication.k8s.io), which Kubernetes grants to every user. Without the latter, or before Kubernetes 1.28, the entry states that
    the Kubernetes user is not known.
  - >-
    A playbook ends when all its hosts, or all hosts of a batch, have failed. To record the changes up to then, use the module in
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
  description: Number of entries and hash of the last one.
  returned: always
  type: str
added:
  description: Numbers of the new entries. There are several for a large fleet and after an interrupted run.
  returned: when entries were added
  type: list
  elements: int
  sample: [17]
hash:
  description: Hash of the last entry. Store it outside the hub, see the option C(anchors) of M(federated.flower.audit_info).
  returned: when entries were added
  type: str
  sample: 2f0c1a7d9c4e6b8a0d1e2f3a4b5c6d7e8f90112233445566778899aabbccddee
unrecorded:
  description: Changes that could not be recorded. If the hub does not accept a part of an entry, the other parts are recorded.
  returned: when the trail could not be written, or a part of it
  type: list
  elements: dict
"""
