#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: leaving_statement
short_description: State what became of a site that left, and sign it
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reads from the audit trail on the hub what became of a site that was removed from the federation, and writes a statement: the SuperNodes that
    were unregistered, the client certificates that were revoked, the objects that were deleted, what is left as far as is known, and
    what was out of reach.
  - >-
    The statement is a file of JSON. Beside it are the same as text (C(.txt)), its signature with the key of the CA of the client certificates (C(.sig)), and
    the certificate of that CA (C(.crt)). C(openssl dgst -sha256 -verify) verifies it.
  - With O(file), verifies a statement against the CA and the audit trail on the hub.
  - The statement says what the audit trail says. It does not prove what others did in the site's cluster.
  - This module is public. Changes of its options follow semantic versioning.
options:
  site:
    description:
      - Inventory name of the site that left. It may no longer be in the inventory.
    type: str
  directory:
    description:
      - Directory on the control node for the files. It is created if it does not exist, but not the one above it.
    type: path
  file:
    description:
      - A statement to verify. Its files C(.sig) and C(.crt) must be beside it.
    type: path
extends_documentation_fragment:
  - federated.flower.hub.by_group
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the right to get C(configmaps) in the hub's namespace, and the Secret of the CA of the client certificates.
seealso:
  - module: federated.flower.audit_info
"""

EXAMPLES = r"""
---
- name: State what became of the site that was removed
  federated.flower.leaving_statement:
    site: lab-berlin
    directory: /srv/statements

- name: Verify the statement
  federated.flower.leaving_statement:
    file: /srv/statements/lab-berlin-entry-12.json
  register: statement

- name: Fail if it was changed
  ansible.builtin.assert:
    that: statement.valid
    fail_msg: "{{ statement.fault }}"
"""

RETURN = r"""
msg:
  description: Summary of the findings.
  returned: always
  type: str
statement:
  description: What is signed.
  returned: success
  type: dict
text:
  description: The statement as lines of text. Empty if it is not valid.
  returned: success
  type: list
  elements: str
file:
  description: Path of the statement.
  returned: success
  type: str
signer:
  description: Fingerprint of the CA's certificate.
  returned: success
  type: str
valid:
  description: Whether the signature is that of the hub's CA, and the audit trail has the entries that the statement names.
  returned: when O(file) is set
  type: bool
fault:
  description: What is wrong with the statement. Empty if RV(valid=true).
  returned: when O(file) is set
  type: str
"""
