#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_preflight
short_description: Check sites before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Checks the variables of each site. If they are good, connects to its cluster, names missing rights, asks the API server by a
    server-side dry run whether it accepts the objects (if a workload is new or changes), refuses a cluster with IPv6 only,
    warns if a pool requests a GPU that no node has, and compares clocks.
  - >-
    Of a site that is reached through Open Cluster Management nothing is asked but its hub; what keeps objects from it is named, and how
    it is resolved.
  - >-
    This module is a step of the playbook C(federated.flower.site). Its options may change in any release.
options:
  hub:
    description:
      - >-
        What M(federated.flower.superlink) returned for the hub; empty if it was not checked. The identity of the hub is then read from its
        ledger.
    type: dict
    default: {}
  ocm:
    description:
      - What M(federated.flower.ocm_addon) returned for the hub; empty if it was not checked.
    type: dict
    default: {}
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Check the sites
  federated.flower.supernode_preflight:
  run_once: true
  register: checked

- name: Report the site
  federated.flower.site_result:
    results: ["{{ checked.sites[inventory_hostname] | default({}) }}"]
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg), and where there are any C(objects) (what became of each), C(diff), C(warnings) and
    C(requests).
  returned: success
  type: dict
"""
