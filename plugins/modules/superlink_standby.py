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
  - Copies the hub's Secrets, ConfigMaps and database, the latter while it is in use, from the cluster of the hub to that of this host, as
    M(federated.flower.superlink_backup) and M(federated.flower.superlink_restore) do, but without an archive on the control node. Outputs of runs
    are not copied.
  - What is equal is not written. The former database stays on the standby until the new one is complete and verified.
  - Writes into both clusters which of the two serves, and in which term. A hub that serves in an older term is fenced first, that is, its pods are
    stopped. So is a standby whose SuperLink someone started.
  - A host that has a hub of its own, or that serves in a newer term, is refused. So is a hub that has another volume claim than at the last copy.
  - With O(state=followed) it copies again and again. It takes the lease of the standby for each copy, so that a failover need not wait longer than
    for one.
  - This module is a step of the playbook C(federated.flower.standby). Its options may change in any release.
options:
  accept_volumes:
    description:
      - Whether a hub may have another volume claim with its database than the one that was noted with the last copy, or when it began to serve.
        Without it, such a hub is not copied, since its volume may be empty.
      - Ignored with O(state=followed), which may find another volume later.
  hub_described:
    description:
      - The variable C(superlink_described) of the hub.
    type: dict
    required: true
  state:
    description:
      - V(checked) looks whether this host can be the standby, and changes nothing.
      - V(present) copies once. V(followed) copies every O(interval) for O(seconds), or until this host serves.
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
      - Seconds between the end of a copy and the begin of the next one.
    type: float
    default: 120.0
  delete_volumes:
    description:
      - Whether O(state=absent) allows to remove a host that has a volume claim for outputs of runs, which may be on no other host.
    type: bool
    default: false
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

- name: Copy the hub every two minutes for an hour
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
  description: When the last copy was started, in UTC. What the hub did later is not in it.
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
ready:
  description: Whether the standby can be written to at once. If not, the hub that is to be fenced first, or what is wrong, is in RV(msg).
  returned: success, if O(state=checked)
  type: bool
removable:
  description: Whether there is a standby to remove.
  returned: success, if O(state=absent)
  type: bool
"""
