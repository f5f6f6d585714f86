#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_restore
short_description: Restore a backup into an emptied hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Opens an archive of M(federated.flower.superlink_backup), reads it to its end, and looks at the hub, before anything is changed.
  - An archive that is damaged, of another federation, of other namespaces, or of a newer Flower than the specification has, is refused. So is a
    hub that has a SuperLink, a volume claim of it, or Secrets and ConfigMaps that differ from those of the archive.
  - Creates the namespaces, Secrets and ConfigMaps, and the volume claim. A short-lived pod with the image of the SuperLink puts the database into
    the volume, where its SHA-256 and its integrity are checked.
  - Outputs of runs that an archive of an earlier release has are not restored. A warning says how to extract them.
  - A restore that was interrupted is completed by running it again with the same archive. Until then the ConfigMap C(flower-restore) is in the
    namespace of the SuperLink, and the hub is not changed by anything else.
  - Needs the Python package C(pyrage) on the control node.
  - This module is a step of the playbook C(federated.flower.restore). Its options may change in any release.
options:
  archive:
    description:
      - The archive on the control node.
    type: path
    required: true
  identity:
    description:
      - A private key of age that opens the archive, or the content of a file of C(age-keygen).
    type: str
    required: true
  sha256:
    description:
      - SHA-256 of the archive that is meant, as hex. Empty to compare the archive with the checksum beside it only. Anyone who knows the public key and may
        write into that folder can put another archive there, with its checksum.
    type: str
    default: ''
  wait_timeout:
    description:
      - Seconds to wait for the pod that writes to the volume, and for its end.
    type: int
    default: 300
extends_documentation_fragment:
  - federated.flower.certificates.ca
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Opens the archive, looks at the hub, and reports what would be restored.
seealso:
  - module: federated.flower.superlink_backup
"""

EXAMPLES = r"""
---
- name: Restore the backup into the emptied hub
  federated.flower.superlink_restore:
    ca_namespace: flower-ca
    archive: /srv/backups/flower-backup-flower-20261124T010000Z.tar
    identity: "{{ backup_private_key }}"
"""

RETURN = r"""
msg:
  description: What was restored.
  returned: always
  type: str
"""
