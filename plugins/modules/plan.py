#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Write the changes of a fleet as a plan, or compare them with one
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    The modules of this collection note what they would change in check mode, with C(--diff) also the differences. This module writes these changes
    into a file to review and approve, or refuses to go on if one of them was not approved.
  - A plan has no secret values. See R(the guide,ansible_collections.federated.flower.docsite.guide_plan).
  - >-
    This module is a step of C(federated.flower.plan) and C(federated.flower.site). Its options may change in any release.
options:
  state:
    description:
      - V(made) writes what this run has found so far as a plan.
      - V(compared) refuses what this run has found so far if the plan does not have it.
    type: str
    choices: [made, compared]
    required: true
  path:
    description:
      - File of the plan, on the control node.
      - A file of that name that is not a plan is not overwritten.
    type: path
  sha256:
    description:
      - SHA-256 of the file of the plan that may be applied. Without O(path), it is compared with that of a new plan.
    type: str
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - federated.flower.hub.name
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Write the plan
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
  description: SHA-256 of the plan.
  returned: success
  type: str
text:
  description: The changes without their differences, in lines.
  returned: with O(state=made)
  type: list
  elements: str
nothing_to_do:
  description: Whether the fleet is as the inventory wants it.
  returned: with O(state=made)
  type: bool
"""
