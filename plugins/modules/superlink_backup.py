#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_backup
short_description: Back up the hub into an encrypted archive, or restore one into an emptied hub
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    V(present) copies the SuperLink's database while it is in use, with the online backup of SQLite, checks the copy, and reads the hub's Secrets and
    ConfigMaps, those of the CA namespace included. It writes all of it into one archive in a folder of the control node, encrypted with age while it
    arrives. Plain text is never written to the disk of the control node. The copy on the SuperLink's volume is removed.
  - Outputs of runs are not in the archive.
  - With O(identity) the archive is decrypted and read completely.
  - V(restored) decrypts such an archive, reads it completely, and checks the hub before anything is changed.
  - An archive that is damaged, of another federation, of other namespaces, or of a newer Flower than the specification has, is refused. So is a
    hub that has a SuperLink, a volume claim of it, or Secrets and ConfigMaps that differ from those of the archive.
  - It then creates the namespaces, Secrets and ConfigMaps, and the volume claim. A short-lived pod with the image of the SuperLink puts the database into
    the volume, where its SHA-256 and its integrity are checked.
  - Outputs of runs that an archive of an earlier release has are not restored. A warning says how to extract them.
  - A restore that was interrupted is completed by running it again with the same archive. Until then the ConfigMap C(flower-restore) is in the
    namespace of the SuperLink, and the hub is not changed by anything else.
  - Needs the Python package C(pyrage) on the control node.
  - This module is a step of the playbooks C(federated.flower.backup) and C(federated.flower.restore). Its options may change in any release.
options:
  state:
    description: What is done.
    type: str
    choices: [present, restored]
    default: present
  directory:
    description: With V(present), which requires it, an existing folder on the control node.
    type: path
  recipients:
    description: With V(present), which requires them, public keys of age. The private key of each of them opens the archive.
    type: list
    elements: str
  identity:
    description: A private key of age, or the content of a file of C(age-keygen), to open the archive with. It is not in the archive. V(restored) requires it.
    type: str
  keep:
    description: Number of archives of this hub that stay in the folder, the newest ones. By default all stay.
    type: int
  hosts:
    description: Hosts of the inventory whose variables of this collection are in the archive, as they are in effect, decrypted.
    type: list
    elements: str
    default: []
  archive:
    description: With V(restored), which requires it, the archive on the control node.
    type: path
  sha256:
    description: With V(restored), SHA-256 of the archive that is meant, as hex. Empty to compare the archive with the checksum beside it only. Anyone who
      knows the public key and may write into that folder can put another archive there, with its checksum.
    type: str
    default: ''
  wait_timeout:
    description: With V(restored), which requires it, seconds to wait for the pod that writes to the volume, and for its end.
    type: int
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
      - Reports the archive that would be written, and what would be in it; or opens it, inspects the hub, and reports what would be restored.
  idempotent:
    support: none
    details:
      - With V(present), each run writes an archive.
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

- name: Restore the backup into the emptied hub
  federated.flower.superlink_backup:
    state: restored
    ca_namespace: flower-ca
    archive: /srv/backups/flower-backup-flower-20261124T010000Z.tar
    identity: "{{ backup_private_key }}"
    wait_timeout: 300
"""

RETURN = r"""
msg:
  description: What was done, and whether a new archive was verified.
  returned: always
  type: str
path:
  description: The archive. Beside it is its SHA-256.
  returned: when present, unless in check mode
  type: str
opened:
  description: Whether the archive was decrypted and read completely.
  returned: when present, unless in check mode
  type: bool
removed:
  description: Older archives that were removed.
  returned: when present, unless in check mode
  type: list
  elements: str
"""
