#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_rights
short_description: Render the rights that are needed in the clusters of sites
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Gives Roles, bindings and ServiceAccounts as objects. No cluster is asked.
  - >-
    A site without direct access to its API server needs none.
  - >-
    This module is a step of the playbook C(federated.flower.rbac). Its options may change in any release.
options:
  settings:
    description:
      - Who the holders are, as the playbook C(federated.flower.rbac) assembles it.
    type: dict
    default: {}
  beside:
    description:
      - The rights of the hub in the same cluster. Objects of the same kind, namespace and name are left out.
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Work out the rights in the sites
  federated.flower.supernode_rights:
  run_once: true
  register: rights
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg), and where there are any C(objects) (what became of each), C(diff), C(warnings) and
    C(requests); C(rights), the objects; C(own_access), whether it has direct access to its API server.
  returned: success
  type: dict
"""
