#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_standby
short_description: Copy a hub to its standby
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Copies the SuperLink's database while it is in use, then the hub's Secrets and ConfigMaps, then the outputs of runs, from the cluster of the hub
    to that of this host. Nothing of it is on the disk of the control node.
  - What is equal is not written. The former database stays on the standby until the new one is complete and verified.
  - Writes into both clusters which of the two serves, and in which term. A hub that serves in an older term is fenced first, that is, its pods are
    stopped. So is a standby whose SuperLink someone started.
  - A host that has a hub of its own, or that serves in a newer term, is refused. So is a hub that has other volume claims than at the last copy.
  - With O(state=followed) it looks every few seconds whether nodes or runs of the hub have changed, and every 30 seconds at its objects and outputs,
    and copies what is behind. It takes the lease of the standby for each copy, so that a failover need not wait longer than for one.
  - This module is a step of the playbook C(federated.flower.standby). Its options may change in any release.
options:
  accept_volumes:
    description:
      - Whether a hub may have other volume claims than those that were noted with the last copy, or when it began to serve. Without it, such a hub
        is not copied, since its volumes may be empty.
      - Ignored with O(state=followed), which may find other volumes later.
  hub_described:
    description:
      - The variable C(superlink_described) of the hub.
    type: dict
    required: true
  state:
    description:
      - V(checked) looks whether this host can be the standby, and changes nothing.
      - V(present) copies once. V(followed) copies whenever something has happened, for O(seconds), or until another hub serves.
      - V(absent) checks that this host can be removed, and has the hub forget it. A copy that was never completed can be removed as well.
    type: str
    choices: [checked, present, followed, absent]
    default: present
  seconds:
    description:
      - How long the hub is followed.
    type: int
    default: 3600
  interval:
    description:
      - Seconds between two looks at the hub.
    type: float
    default: 5.0
extends_documentation_fragment:
  - federated.flower.hub.copied
  - federated.flower.hub.name
  - federated.flower.certificates.ca
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Looks at both hubs and reports that a copy would be made.
  idempotent:
    support: partial
    details:
      - Reports a change when something was written. SuperNodes that are online change the database every few seconds.
seealso:
  - module: federated.flower.superlink_failover
"""

EXAMPLES = r"""
---
- name: Copy the hub to its standby
  federated.flower.superlink_standby:
    spec: "{{ superlink_described.spec }}"
    ca_namespace: flower-ca
    hub: hub
    hub_described: "{{ hostvars['hub'].superlink_described }}"

- name: Copy what happens on the hub within the next hour
  federated.flower.superlink_standby:
    spec: "{{ superlink_described.spec }}"
    ca_namespace: flower-ca
    hub: hub
    hub_described: "{{ hostvars['hub'].superlink_described }}"
    state: followed
    seconds: 3600
"""

RETURN = r"""
msg:
  description: What was copied.
  returned: always
  type: str
term:
  description: The term, which each failover raises.
  returned: success, when a copy was made
  type: int
copied:
  description: When the last copy was started, or found to be current, in UTC. What the hub did later is not in it.
  returned: success, when a copy was made
  type: str
copies:
  description: How many copies were made.
  returned: success, if O(state=followed)
  type: int
claim:
  description: Uid of the volume claim with the database.
  returned: success, if O(state=present) and a copy was made
  type: str
database:
  description: Bytes of the database.
  returned: success, when a copy was made
  type: int
written:
  description: Objects that were created, changed or deleted on the standby, with C(kind), C(namespace), C(name) and C(change).
  returned: success, when a copy was made
  type: list
  elements: dict
outputs:
  description: Numbers of files that were copied, removed, left out, and that changed while they were read.
  returned: success, when a copy was made
  type: dict
ready:
  description: Whether the standby can be written to at once. If not, the hub that is to be fenced first, or what is wrong, is in RV(msg).
  returned: success, if O(state=checked)
  type: bool
removable:
  description: Whether there is a standby to remove.
  returned: success, if O(state=absent)
  type: bool
"""
