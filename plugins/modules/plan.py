#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Make a plan of the fleet, or apply one and nothing else
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    While the playbook C(federated.flower.plan) runs, the modules of this collection keep what they would change. This module makes a plan of
    it, for people and for C(federated.flower.site), which compares it with the fleet and then writes only what is planned.
  - A plan has no secret values. See R(the guide,ansible_collections.federated.flower.docsite.guide_plan).
  - >-
    This module is a step of C(federated.flower.plan) and C(federated.flower.site). Its options may change in any release.
options:
  state:
    description:
      - V(made) writes what the run has kept so far as a plan.
      - V(opened) refuses a plan that was edited, is too old, or was made for another run.
      - >-
        V(compared) refuses a plan that is not what the run has kept so far. Otherwise the modules of this collection write only what is
        planned until the end of the run.
      - V(settled) fails if what was written is not what was planned.
    type: str
    choices: [made, opened, compared, settled]
    required: true
  path:
    description:
      - File of the plan, on the control node.
      - A file of that name that is not a plan is not overwritten.
    type: path
  sha256:
    description:
      - SHA-256 of the plan that may be applied. Without O(path), the plan is made again and its SHA-256 compared.
    type: str
  hours:
    description:
      - Hours in which a plan that is made can be applied.
    type: int
    default: 24
  forget:
    description:
      - The value of C(flower_forget_sites). With O(state=opened), a plan is refused if it names sites, which are forgotten for good.
    type: raw
  former:
    description:
      - The value of C(flower_forget_clusters). With O(state=opened), a plan is refused if it names clusters.
    type: raw
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - federated.flower.hub.name
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Make the plan
  federated.flower.plan:
    state: made
    path: fleet-plan.yml
    hub: hub
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
sha256:
  description: SHA-256 of the plan, or, with O(state=settled), of what was applied.
  returned: success, unless O(state=opened)
  type: str
text:
  description: The plan for people, in lines.
  returned: with O(state=made)
  type: list
  elements: str
nothing_to_do:
  description: Whether the fleet is as the inventory wants it.
  returned: with O(state=made)
  type: bool
applied_before:
  description: Whether an earlier run applied the plan, or a part of it.
  returned: with O(state=compared)
  type: bool
planned:
  description: Each object of the plan, a line each.
  returned: with O(state=settled)
  type: list
  elements: str
applied:
  description: Each object that was written, a line each.
  returned: with O(state=settled)
  type: list
  elements: str
"""
