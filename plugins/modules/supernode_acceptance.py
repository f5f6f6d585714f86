#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_acceptance
short_description: Measure the connections of SuperNodes to the hub and accept or reject each site
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    A program in one SuperNode of each pool tests the connection that the SuperNode uses: it resolves the hub's name, opens its port, verifies its
    certificate, compares the clock with the hub's, and sends a small call to the SuperLink and one with the largest body that Flower sends. In the container
    in which apps compute, it reads the pool's datasets and checks for GPUs. The hub reports whether the SuperNodes are online.
  - >-
    Each site gets points from 0 to 100, the share of its checks that are good, where a weak one counts half. It is accepted if no check is bad.
    The last result of each site is stored on the hub, in the ConfigMap C(flower-acceptance), without its checks and with at most four reasons.
    If it cannot be stored, the task warns.
  - >-
    A site that is down is not accepted, which is a valid result. Pods of sites that are reached through Open Cluster Management, or that get
    bundles, cannot be queried: only the hub's view of them counts.
  - >-
    Nothing at a site is changed. Calls carry no signature, so the SuperLink reads and refuses them.
  - >-
    This module is public. Changes of its options follow semantic versioning.
options:
  round_trip:
    description: Milliseconds that a small call may take without being weak.
    type: float
    default: 500
  upload:
    description: Megabits per second at or above which the connection is not weak.
    type: float
    default: 8
  idle:
    description: Seconds, up to 50, for which a connection to the hub is idle before it is used; V(0) skips this check. The measurement takes that much longer.
    type: float
    default: 0
  joining:
    description: Measure only sites whose SuperNodes have been online, that have never passed, and are not denied. The others are not in the result.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  check_mode:
    details: Measures, and stores no result on the hub.
"""

EXAMPLES = r"""
---
- name: Measure all sites of the play
  federated.flower.supernode_acceptance:
    round_trip: 200
  run_once: true
  register: measured

- name: Show them
  ansible.builtin.debug:
    msg: "{{ measured.table }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: Number of sites.
  returned: always
  type: str
table:
  description: The result as text, a line for each site, followed by its weak and bad checks.
  returned: success
  type: list
  elements: str
sites:
  description: >-
    For each site C(accepted), C(score) (0 to 100, null if nothing could be checked), C(reasons) (what is weak or bad), C(at) (time) and C(checks)
    (C(name), C(pool), C(verdict), which is C(good), C(weak), C(bad) or C(not checked), and C(text)).
  returned: success
  type: dict
"""
