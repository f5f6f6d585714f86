#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: leaving_statement
short_description: Write the leaving record of a site
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads from the audit trail on the hub how a site was removed from the federation, and writes it to a text file: the SuperNodes
    that were unregistered, the client certificates that were revoked, the objects that were deleted, volume claims, hosts that failed, and
    the objects that were created and not deleted. Each entry of the trail is named with its number and hash.
  - With O(file), compares a page with the audit trail on the hub.
  - The page contains what the audit trail contains. It does not prove what others did in the site's cluster.
  - This module is public. Changes of its options follow semantic versioning.
options:
  site:
    description: Inventory name of the site that left. It may no longer be in the inventory.
    type: str
  directory:
    description: Directory on the control node for the page. It is created if it does not exist, but not the one above it. The name of the file is
      C(SITE-entry-NUMBER.txt), with the number of the last entry.
    type: path
  file:
    description: A page to verify.
    type: path
extends_documentation_fragment:
  - federated.flower.hub.by_group
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the right to get C(configmaps) in the hub's namespace.
seealso:
  - module: federated.flower.audit_info
"""

EXAMPLES = r"""
---
- name: Write the leaving record of the site that was removed
  federated.flower.leaving_statement:
    site: lab-berlin
    directory: /srv/records

- name: Verify the leaving record
  federated.flower.leaving_statement:
    file: /srv/records/lab-berlin-entry-12.txt
  register: record

- name: Fail if it was changed
  ansible.builtin.assert:
    that: record.valid
    fail_msg: "{{ record.fault }}"
"""

RETURN = r"""
msg:
  description: Summary of the findings.
  returned: always
  type: str
text:
  description: The lines of the page. Empty if it is not valid.
  returned: success
  type: list
  elements: str
file:
  description: Path of the page.
  returned: success
  type: str
valid:
  description: Whether the page matches the audit trail.
  returned: when O(file) is set
  type: bool
fault:
  description: How the page differs from the audit trail. Empty if RV(valid=true).
  returned: when O(file) is set
  type: str
"""
