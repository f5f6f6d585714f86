#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: render
short_description: Write the objects of a run in check mode into files for a GitOps controller
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    While the playbook C(federated.flower.render) runs, the modules of this collection keep what they would apply. This module writes it
    into a file per host, C(DIRECTORY/HOST/flower.yaml), which Argo CD, Flux or C(kubectl apply) can read.
  - >-
    Secrets, ConfigMaps, namespaces and volumes are not in the files: they hold keys, certificates, addresses and data, which playbooks
    change between two renderings. See R(the guide,ansible_collections.federated.flower.docsite.guide_gitops).
  - >-
    This module is a step of C(federated.flower.render). Its options may change in any release.
options:
  directory:
    description:
      - Folder of the files, on the control node. It is created if it does not exist.
      - A file of that name that this module did not write, or wrote for another federation, is not overwritten.
    type: path
    required: true
  hosts:
    description:
      - Inventory names of the clusters. Files of other hosts stay as they are.
    type: list
    elements: str
    required: true
  federation:
    description:
      - Name of the federation. It is noted in the files.
    type: str
    required: true
  namespace:
    description:
      - Namespace of the federation on its hub. It is noted in the files.
    type: str
    required: true
  ocm_sites:
    description:
      - >-
        Inventory names of all sites that Open Cluster Management delivers to. What they get is in the file of the hub, which is written
        only if something was rendered for each of them.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - federated.flower.hub.name
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Write the files
  federated.flower.render:
    directory: deploy
    hosts: "{{ ansible_play_hosts }}"
    hub: hub
    federation: flower
    namespace: flower
  run_once: true
  check_mode: false
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
files:
  description: Paths of the files that changed.
  returned: always
  type: list
  elements: str
"""
