#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: support
short_description: Write a support archive of a federation
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads, at the API servers of the hub and of the sites, the objects of the federation (of Secrets only the names of their entries), the events of
    its namespaces and the logs of its pods. Adds O(status), O(changes), versions and the variables of the inventory, and writes all of it as a tar.gz
    that only its owner may read. Its file C(CONTENTS.txt) starts with the problems.
  - >-
    Before it is written, all text is searched for the values of the Secrets in the namespaces of its cluster and of the hub, for private keys, tokens,
    passwords in URLs and values of a vault. They are replaced by C((secret)).
  - Clusters that do not answer, and objects that cannot be read, are listed in C(CONTENTS.txt).
  - This module is public. Changes of its options follow semantic versioning.
options:
  file:
    description: File to write, or a folder, in which it gets a name with the federation and the time. A file that exists is not replaced.
    type: path
    required: true
  lines:
    description: Maximum number of lines of each container's log, from V(1) to V(10000).
    type: int
    default: 200
  since:
    description: Only lines of logs that were written since then, see O(federated.flower.logs_info#module:since).
    type: str
  status:
    description: The report of the fleet, of the filter P(federated.flower.fleet_report#filter). C(CONTENTS.txt) begins with its findings.
    type: dict
    required: true
  changes:
    description: The last entries of the audit trail, RV(federated.flower.audit_info#module:table).
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  check_mode:
    details: Reads everything, and writes no file.
  idempotent:
    support: none
    details: Each run writes another archive.
notes:
  - >-
    Needs the rights to list the objects of the federation, its C(secrets) and C(events), and to get C(pods/log). Without the right to list C(secrets),
    their values are unknown and cannot be masked: C(CONTENTS.txt) reports it.
"""

EXAMPLES = r"""
---
- name: Write an archive
  federated.flower.support:
    file: /tmp
    status: "{{ 'hub' | federated.flower.fleet_report(superlink, supernodes.sites) }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: The file, its size, and the number of files in it.
  returned: always
  type: str
file:
  description: Path of the archive.
  returned: success
  type: str
findings:
  description: The problems, as in the status of the fleet, each with C(level), C(cluster), C(text) and C(remedy).
  returned: success
  type: list
  elements: dict
notes:
  description: What is not in the archive, and why.
  returned: success
  type: list
  elements: str
masked:
  description: Number of places where a secret was replaced.
  returned: success
  type: int
sites:
  description: For each cluster C(failed) and C(msg), where it could not be read.
  returned: success
  type: dict
"""
