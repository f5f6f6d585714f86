#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_pull
short_description: Have the nodes of sites pull new images before SuperNodes are replaced
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Compares the images of each pool with those that its variables want. For each node with a pod of a pool whose images change, a Job pulls the
    new ones. It has the account, pull secrets, tolerations and security contexts of that pool, and requests next to nothing and no GPU. The Jobs
    are deleted at the end, and those of a run that was interrupted by the next run, or by the cluster when their time is over.
  - >-
    No pod of the site is changed. A site of which a node does not get an image fails.
  - >-
    Sites that are reached through Open Cluster Management, or that get bundles, are skipped, and the result says so: their nodes cannot be asked.
  - >-
    The variable C(flower_upgrade_pull) of a host, V(true) by default, is whether this is done for it, C(flower_upgrade_pull_timeout) for how many
    seconds at most, V(900) by default.
  - >-
    This module is a step of the playbook C(federated.flower.upgrade). Its options may change in any release.
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  check_mode:
    details: It says which images would be pulled on which nodes, and checks the rights that are needed.
"""

EXAMPLES = r"""
---
- name: Pull the new images
  federated.flower.supernode_pull:
    sites: [site-a, site-b]
  run_once: true
  register: pulled
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
lines:
  description: For each site a sentence for people.
  returned: success
  type: list
  elements: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg); and C(images), C(nodes), which are empty if there was nothing to pull, and C(skipped), why
    nothing can be pulled there.
  returned: success
  type: dict
"""
