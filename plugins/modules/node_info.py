#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: Read GPUs and feature labels of the nodes of sites
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads which devices the nodes of each site advertise, and the labels that feature discovery puts on them, so that an inventory can have groups
    of sites with these devices. The playbook federated.flower.node_facts creates these groups.
  - Needs the right to list nodes. A site that is reached only through Open Cluster Management has none here.
  - This module is public. Changes of its options follow semantic versioning.
options:
  labels:
    description: Labels to read. C(*) matches any text.
    type: list
    elements: str
    default:
      - nvidia.com/*
      - amd.com/gpu.*
      - beta.amd.com/gpu.*
      - gpu.intel.com/*
      - feature.node.kubernetes.io/pci-*
  timeout:
    description: Seconds to wait for an answer of an API server.
    type: int
    default: 10
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Read the nodes of the sites
  federated.flower.node_info:
  run_once: true
  register: nodes
"""

RETURN = r"""
msg:
  description: Number of sites.
  returned: always
  type: str
sites:
  description: >-
    For each site C(gpus) (allocatable devices of all nodes, by resource), C(products) (names of GPUs), C(labels) (for each label the values
    that nodes have) and C(groups) (names of groups, C(gpu_<product>) and C(gpu_<resource>) in lower case with underscores); C(failed) and
    C(msg) where they cannot be read.
  returned: success
  type: dict
"""
