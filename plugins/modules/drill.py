#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: drill
short_description: Break one thing on purpose and measure the recovery
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Conducts a drill on a federation. It keeps on the hub what it is about to break, breaks it, repairs it, and measures how long it takes until the
    SuperLink has heard of all SuperNodes concerned. What is broken is undone in any case, if need be by the next run.
  - Refuses while a run is active that it did not start.
  - >-
    This module is a step of the playbook C(federated.flower.drill). Its options may change in any release.
options:
  step:
    description:
      - V(undo) undoes what an interrupted drill has left; V(plan) checks what is wanted; V(conduct) conducts one drill; V(report) makes a table
        of what was measured.
    type: str
    required: true
    choices: [undo, plan, conduct, report]
  drills:
    description:
      - Names of drills, a list or a text with commas. For the step V(conduct) a single one.
    type: raw
  confirm:
    description:
      - Name of the federation. Without it no drill is conducted.
    type: str
    default: ""
  targets:
    description:
      - Mapping of drills to seconds, which replaces defaults.
    type: raw
  site:
    description:
      - Site that is cut off, or of which a SuperNode is killed; the first one that can be by default.
    type: str
    default: ""
  seconds:
    description:
      - How long a fault lasts. It lasts at least as long as is needed to notice it, about 40 seconds.
    type: int
    default: 60
  wait:
    description:
      - Seconds to wait for a recovery.
    type: int
    default: 300
  app:
    description:
      - An app that runs during each of the drills. The run must complete.
    type: path
  app_config:
    description:
      - Run config of the app.
    type: dict
    default: {}
  app_wait:
    description:
      - Seconds from the recovery until its run must be finished.
    type: int
    default: 900
  directory:
    description:
      - Folder of the control node for the backup of the drill V(database_lost).
    type: path
  recipients:
    description:
      - Public keys of age, one of which can open the backup.
    type: list
    elements: str
    default: []
  identity:
    description:
      - The private key of age that opens it.
    type: str
  rows:
    description:
      - For the step V(report), what the step V(conduct) returned as RV(row).
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - federated.flower.certificates.ca
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Shows what would be broken, and what would refuse it.
  idempotent:
    support: none
    details:
      - Each time, something is broken again.
"""

EXAMPLES = r"""
---
- name: Cut a site off for a minute
  federated.flower.drill:
    step: conduct
    ca_namespace: flower-ca
    drills: site_cut
    confirm: flower
    site: site-b
    sites: "{{ groups['flower_sites'] }}"
"""

RETURN = r"""
msg:
  description: A sentence.
  returned: always
  type: str
drills:
  description: Names of the drills.
  returned: for the step plan
  type: list
  elements: str
lines:
  description: The plan, or the table, for people.
  returned: for the steps plan and report
  type: list
  elements: str
row:
  description: What a drill has measured.
  returned: for the step conduct
  type: dict
  contains:
    drill:
      description: Name of the drill.
      type: str
    at:
      description: Host at which something was broken.
      type: str
    of:
      description: Number of SuperNodes concerned.
      type: int
    affected:
      description: Number of those that lost the SuperLink.
      type: int
    seconds:
      description: Seconds until they were back; none if they were not.
      type: float
    target:
      description: How many seconds it may take.
      type: int
    result:
      description: V(met), V(missed), V(no effect) or V(failed).
      type: str
    note:
      description: Details, or the error.
      type: str
    run:
      description: Number and state of the drill's own run, C(id) and C(status).
      type: dict
faults:
  description: A sentence for each drill that did not go as it should.
  returned: for the step report
  type: list
  elements: str
"""
