#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: takeover
short_description: Migrate the keys of a Federation of flower-operator
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads a running C(Federation) of flower-operator in the cluster of each site that has the variable C(flower_takeover_namespace),
    and reports what a move to this collection keeps, loses and restarts.
  - >-
    Private keys of SuperNodes that only one SuperNode has are copied from the operator's Secrets into those of the site. The role
    C(federated.flower.supernode) then registers them instead of creating new ones. They pass through the memory of the control node.
  - Nothing that the operator or its users created is changed or deleted. The runs of its SuperLink are listed by an exec in its pod.
  - This module is public. Changes of its options follow semantic versioning.
options:
  sites:
    description: Inventory names of the sites. All hosts of the batch that have C(flower_takeover_namespace) by default.
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Report what a move keeps, and change nothing
  federated.flower.takeover:
  run_once: true
  check_mode: true
  register: takeover
"""

RETURN = r"""
sites:
  description: The result for each site, by inventory name.
  returned: success
  type: dict
  contains:
    report:
      description: The report as lines of text.
      type: list
      elements: str
    keys:
      description: >-
        For each SuperNode of the operator C(pool), C(name) (pod index or node), C(result) (V(kept) or V(new)), C(why) and C(fingerprint).
      type: list
      elements: dict
    missing:
      description: Objects that the new pods name and that the namespace of the site lacks.
      type: list
      elements: str
    active_runs:
      description: Ids of active runs of the old SuperLink.
      type: list
      elements: str
    runs_known:
      description: Whether the old SuperLink could be queried.
      type: bool
msg:
  description: Number of sites, and names of those that failed.
  returned: always
  type: str
"""
