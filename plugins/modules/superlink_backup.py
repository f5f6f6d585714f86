#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_backup
short_description: Back up the hub into an encrypted archive
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Copies the SuperLink's database while it is in use, with the online backup of SQLite, checks the copy, and reads the hub's Secrets and
    ConfigMaps, those of the CA namespace included.
  - Writes all of it into one archive in a folder of the control node, encrypted with age while it arrives. Plain text is never written to the
    disk of the control node. The copy on the SuperLink's volume is removed.
  - Outputs of runs are not in the archive.
  - With O(identity) the archive is opened and read to its end.
  - Needs the Python package C(pyrage) on the control node.
  - This module is a step of the playbook C(federated.flower.backup). Its options may change in any release.
options:
  directory:
    description:
      - An existing folder on the control node.
    type: path
    required: true
  recipients:
    description:
      - Public keys of age. The private key of each of them opens the archive.
    type: list
    elements: str
    required: true
  identity:
    description:
      - A private key of age, or the content of a file of C(age-keygen), to open the archive with. It is not in the archive.
    type: str
  keep:
    description:
      - Number of archives of this hub that stay in the folder, the newest ones. By default all stay.
    type: int
  hosts:
    description:
      - Hosts of the inventory whose variables of this collection are in the archive, as they are in effect, decrypted.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - federated.flower.certificates.ca
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Reports the archive that would be written, and what would be in it.
  idempotent:
    support: none
    details:
      - Each run writes an archive.
seealso:
  - module: federated.flower.superlink_restore
"""

EXAMPLES = r"""
---
- name: Back up the hub
  federated.flower.superlink_backup:
    ca_namespace: flower-ca
    directory: /srv/backups
    recipients:
      - "{{ backup_public_key }}"
    keep: 14
"""

RETURN = r"""
msg:
  description: What was done, and whether the archive was opened.
  returned: always
  type: str
path:
  description: The archive. Beside it is its SHA-256.
  returned: success, unless in check mode
  type: str
opened:
  description: Whether the archive was opened and read to its end.
  returned: success, unless in check mode
  type: bool
removed:
  description: Older archives that were removed.
  returned: success, unless in check mode
  type: list
  elements: str
"""
