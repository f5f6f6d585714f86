#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_failover
short_description: Have the standby serve instead of the hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - The steps of a failover, each of which can be repeated.
  - O(state=planned), for the standby, looks at both hubs and refuses what cannot be done, also a last copy that would be refused when the hub is
    stopped; without O(confirmed) also what can.
  - O(state=fenced), for the hub, writes that another one serves in the new term, and stops the pods of SuperLink, gateway and ServerApp.
  - O(state=promoted), for the standby, copies the stopped hub once more if it can be reached, and writes that this host serves in the new term. The
    playbook C(federated.flower.site) then starts its SuperLink.
  - This module is a step of the playbook C(federated.flower.failover). Its options may change in any release.
options:
  hub:
    description:
      - Inventory name of the other one of the two hosts.
    type: str
    required: true
  hub_described:
    description:
      - The variable C(superlink_described) of that host. Not needed with O(hub_lost).
    type: dict
    default: {}
  state:
    description:
      - The step.
      - V(fenced) judges active runs once more. A hub that a GitOps controller would start again is stopped, and is an error.
    type: str
    choices: [planned, fenced, promoted]
    required: true
  plan:
    description:
      - What O(state=planned) returned as RV(plan). The other steps need it.
    type: dict
    default: {}
  confirmed:
    description:
      - Whether the failover is really meant.
    type: bool
    default: false
  hub_lost:
    description:
      - Whether the hub is taken for lost and not asked.
    type: bool
    default: false
  abandon_runs:
    description:
      - Whether a hub that has active runs, or whose runs cannot be listed although its SuperLink is ready, is stopped. These runs fail.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.hub.copied
  - federated.flower.certificates.ca
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - O(state=planned) shows the plan. The playbook skips the other steps.
seealso:
  - module: federated.flower.superlink_standby
"""

EXAMPLES = r"""
---
- name: Plan the failover
  federated.flower.superlink_failover:
    spec: "{{ superlink_described.spec }}"
    ca_namespace: flower-ca
    hub: hub
    hub_described: "{{ hostvars['hub'].superlink_described }}"
    state: planned
    confirmed: true
  register: planned
"""

RETURN = r"""
msg:
  description: What was done, or would be.
  returned: always
  type: str
plan:
  description: >-
    What is to be done. C(number), the term; C(fence), C(copy) and C(promote), whether these steps are needed; C(copied), the time of the last copy;
    C(lost), why the hub is not asked; C(begun), seconds since 1970.
  returned: success, if O(state=planned)
  type: dict
lines:
  description: The plan for people.
  returned: success, if O(state=planned)
  type: list
  elements: str
copied:
  description: When the copy that is used was started, in UTC.
  returned: success, if O(state=promoted), unless this host serves already
  type: str
"""
