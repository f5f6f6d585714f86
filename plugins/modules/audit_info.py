#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_info
short_description: Read and verify the audit trail
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads the audit trail from the hub, or an exported trail from a file, verifies the chain of hashes, and reports
    the first entry that was altered, removed, moved or truncated.
  - A broken chain does not fail the task. See RV(valid).
  - >-
    Anyone who can write ConfigMaps on the hub can rewrite the whole trail. Only a hash that was stored elsewhere can
    detect that, see O(anchors).
  - This module is public. Changes of its options follow semantic versioning.
options:
  file:
    description: File with an exported trail to verify instead of the one on the hub. No cluster is contacted.
    type: path
  anchors:
    description: Hashes that were stored elsewhere. Each must be the hash of an entry.
    type: list
    elements: str
    default: []
  last:
    description: Number of verified entries in RV(table). V(0) shows all.
    type: int
    default: 0
  export:
    description: Return the stored lines of the trail in RV(lines).
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.hub.by_group
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the right to get C(configmaps) in the hub's namespace.
"""

EXAMPLES = r"""
---
- name: Verify an exported trail against the hash that was stored in March
  federated.flower.audit_info:
    file: audit.jsonl
    anchors: [2f0c1a7d9c4e6b8a0d1e2f3a4b5c6d7e8f90112233445566778899aabbccddee]
  register: trail

- name: Fail if it was altered
  ansible.builtin.assert:
    that: trail.valid
    fail_msg: "{{ trail.fault }}"
"""

RETURN = r"""
msg:
  description: Summary of the findings.
  returned: always
  type: str
valid:
  description: Whether the chain is complete and unaltered.
  returned: success
  type: bool
fault:
  description: Fault of the first invalid entry. Empty if RV(valid=true).
  returned: success
  type: str
  sample: "audit trail flower/flower-audit on hub: entry 5 (ConfigMap flower/flower-audit-00001, line 5) was altered: its content
    does not match its hash"
notes:
  description: Additional information that is not a fault.
  returned: success
  type: list
  elements: str
entries:
  description: Number of verified entries, starting with the first one.
  returned: success
  type: int
hash:
  description: Hash of the last verified entry.
  returned: success
  type: str
table:
  description: Who changed what, when and where, as lines of text. Entries after a break have a question mark.
  returned: success
  type: list
  elements: str
lines:
  description: The entries and the head record, one line of JSON each, in the format of O(file).
  returned: when O(export=true)
  type: list
  elements: str
"""
