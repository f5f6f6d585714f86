#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Write the changes of a check-mode run as a plan or as files for a GitOps controller
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    In check mode, the modules of this collection record the changes that they would make, with C(--diff) also the differences. This module writes these
    changes to a file for review and approval, or stops the playbook if one of them was not approved.
  - A plan has no secret values. See R(the guide,ansible_collections.federated.flower.docsite.guide_plan).
  - >-
    While the playbook C(federated.flower.render) runs, they also keep the objects that they would apply. With V(rendered), this module writes them
    into a file per host, C(DIRECTORY/HOST/flower.yaml), which Argo CD, Flux or C(kubectl apply) can read. Secrets, ConfigMaps, namespaces and volumes
    are not in these files: they hold keys, certificates, addresses and data, which playbooks change between two renderings. See
    R(the guide,ansible_collections.federated.flower.docsite.guide_gitops).
  - >-
    This module is a step of C(federated.flower.plan), C(federated.flower.site) and C(federated.flower.render). Its options may change in any release.
options:
  state:
    description:
      - V(written) writes the changes that this run has found so far as a plan.
      - V(compared) fails if this run has found a change that is not in the plan.
      - V(rendered) writes what this run would apply into files, each for one cluster.
    type: str
    choices: [written, compared, rendered]
    required: true
  path:
    description:
      - File of the plan, on the control node.
      - A file of that name that is not a plan is not overwritten.
    type: path
  sha256:
    description: SHA-256 of the file of the plan that may be applied. Without O(path), it is compared with that of a new plan.
    type: str
  directory:
    description:
      - With V(rendered), which requires it, the folder of the files, on the control node. It is created if it does not exist.
      - A file of that name that this module did not write, or wrote for another federation, is not overwritten.
    type: path
  hosts:
    description: With V(rendered), which requires it, inventory names of the clusters. Files of other hosts stay as they are.
    type: list
    elements: str
  ocm_sites:
    description: >-
      With V(rendered), inventory names of all sites that Open Cluster Management delivers to. What they get is in the file of the hub, which is written
      only if something was rendered for each of them.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - federated.flower.hub.name
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Write the plan
  federated.flower.plan:
    state: written
    path: fleet-plan.yml
    hub: hub
  run_once: true

- name: Write the files
  federated.flower.plan:
    state: rendered
    directory: deploy
    hosts: "{{ ansible_play_hosts }}"
    hub: hub
  run_once: true
  check_mode: false
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
sha256:
  description: SHA-256 of the plan.
  returned: with O(state=written) or O(state=compared)
  type: str
text:
  description: The changes without their differences, in lines.
  returned: with O(state=written)
  type: list
  elements: str
nothing_to_do:
  description: Whether the fleet matches the inventory.
  returned: with O(state=written)
  type: bool
files:
  description: Paths of the files that changed.
  returned: with O(state=rendered)
  type: list
  elements: str
"""
