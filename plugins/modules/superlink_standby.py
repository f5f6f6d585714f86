#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_standby
short_description: Copy a hub to its standby, and promote the standby
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Copies the hub's Secrets, ConfigMaps and database, the latter while it is in use, from the cluster of the hub to that of this host, as
    M(federated.flower.superlink_backup) and M(federated.flower.superlink_backup) do, but without an archive on the control node. Outputs of runs
    are not copied.
  - Objects that are equal are not written. The former database stays on the standby until the new one is complete and verified.
  - Writes into both clusters which of the two serves, and in which term. A hub that serves in an older term is fenced first, that is, its pods are
    stopped. So is a standby whose SuperLink someone started.
  - A host that has its own hub, or that serves in a newer term, is refused. So is a hub with another volume claim than at the last copy.
  - With O(state=followed) it copies again and again. It takes the lease of the standby for each copy, so that a failover need not wait longer than
    for one.
  - The steps of a failover are V(planned) and V(promoted) for the standby, and V(fenced) for the hub. Each of them can be repeated.
  - This module is a step of the playbooks C(federated.flower.standby) and C(federated.flower.failover). Its options may change in any release.
options:
  accept_volumes:
    description:
      - Whether the hub may use another volume claim for its database than at the last copy, or than when it began to serve.
        By default, such a hub is not copied, because its volume may be empty.
      - Ignored with O(state=followed), which may find another volume later.
  hub:
    description: Inventory name of the other one of the two hosts. The hub, except for V(fenced).
    type: str
    required: true
  hub_described:
    description: The variable C(superlink_described) of that host. Not needed with O(hub_lost), or to fence.
    type: dict
    default: {}
  state:
    description:
      - V(checked) checks whether this host can be the standby, and changes nothing.
      - V(present) copies once. V(followed) copies every O(interval) for O(seconds), or until this host serves.
      - V(absent) checks that this host can be removed, and has the hub forget it. A copy that was never completed can be removed as well.
      - V(planned) checks both hubs and refuses a failover that cannot succeed, including one whose last copy would be refused when the hub is stopped.
        Without O(confirmed) it refuses every failover.
      - V(fenced) checks active runs once more, writes that another host serves in the new term, and stops the pods of SuperLink, gateway and ServerApp.
        A hub that a GitOps controller would start again is stopped, and is an error.
      - V(promoted) copies the stopped hub once more if it can be reached, and writes that this host serves in the new term. The playbook
        C(federated.flower.site) then starts its SuperLink.
    type: str
    choices: [absent, checked, fenced, followed, planned, present, promoted]
    default: present
  seconds:
    description: How long the hub is followed.
    type: int
    default: 3600
  interval:
    description: Seconds between the end of a copy and the start of the next one.
    type: float
    default: 120.0
  delete_volumes:
    description: Whether O(state=absent) may remove a host with a volume claim for outputs of runs, which may exist on no other host.
    type: bool
    default: false
  plan:
    description: What O(state=planned) returned as RV(plan). V(fenced) and V(promoted) require it.
    type: dict
  confirmed:
    description: With V(planned), whether the failover is confirmed.
    type: bool
    default: false
  hub_lost:
    description: With V(planned), whether the hub is treated as lost and not contacted.
    type: bool
    default: false
  abandon_runs:
    description: Whether a hub that has active runs, or whose runs cannot be listed although its SuperLink is ready, is stopped in a failover. These runs fail.
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
      - Checks both hubs and reports that a copy would be made. V(planned) shows the plan; V(fenced) and V(promoted) are skipped by the playbook.
  idempotent:
    support: partial
    details:
      - Reports a change when something was written. SuperNodes that are online change the database every few seconds.
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

- name: Plan the failover
  federated.flower.superlink_standby:
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
term:
  description: The term, which each failover raises.
  returned: success, when a copy was made
  type: int
copied:
  description: When the last copy was started, in UTC. Later changes of the hub are not in it.
  returned: success, when a copy was made or, if O(state=promoted), is used
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
plan:
  description: >-
    What is to be done. C(number), the term; C(fence), C(copy) and C(promote), whether these steps are needed; C(copied), the time of the last copy;
    C(lost), why the hub is not contacted; C(begun), seconds since 1970.
  returned: success, if O(state=planned)
  type: dict
lines:
  description: The plan as text.
  returned: success, if O(state=planned)
  type: list
  elements: str
"""
