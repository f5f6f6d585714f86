#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: audit_info
short_description: Read and verify the audit trail of a federation
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Reads the audit trail from the hub, or an exported one from a file, goes through the chain of hashes, and says which
    entry is the first that was altered, left out, moved or cut off.
  - A broken chain is an answer, not a failure.
  - Who may write config maps on the hub can write the whole trail anew. That is found only by a hash that was noted
    elsewhere, see O(anchors).
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
  file:
    description:
      - An exported trail to verify, instead of the one on the hub. No cluster is asked.
    type: path
  anchors:
    description:
      - Hashes that were noted elsewhere. Each has to be the hash of an entry.
    type: list
    elements: str
    default: []
  last:
    description:
      - How many of the proven entries RV(table) shows. V(0) shows all.
    type: int
    default: 0
  export:
    description:
      - Return the trail as it lies there in RV(lines).
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
notes:
  - Needs the right to get C(configmaps) in the hub's namespace.
seealso:
  - module: federated.flower.audit
"""

EXAMPLES = r"""
---
- name: Verify an exported trail against the hash that was noted in March
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
  description: What was found, in a sentence.
  returned: always
  type: str
valid:
  description: Whether the chain is whole.
  returned: success
  type: bool
fault:
  description: What is wrong with the first bad entry. Empty when RV(valid=true).
  returned: success
  type: str
  sample: "audit trail flower/flower-audit on hub: entry 5 (ConfigMap flower/flower-audit-00001, line 5) was altered: its content
    does not have the hash that it names"
notes:
  description: What is worth knowing though nothing is wrong.
  returned: success
  type: list
  elements: str
entries:
  description: Number of proven entries, from the first one on.
  returned: success
  type: int
hash:
  description: Hash of the last proven entry.
  returned: success
  type: str
table:
  description: Who changed what, when, and where, as lines of text. Entries behind a break have a question mark.
  returned: success
  type: list
  elements: str
lines:
  description: The entries and the head record, one line of JSON each, as O(file) reads them.
  returned: when O(export=true)
  type: list
  elements: str
"""
