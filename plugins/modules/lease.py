#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: lease
short_description: Take the lease of the fleet, or return it
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Of several playbooks that change one fleet, from any control node or controller, only one runs at a time: the one
    that holds the lease, a C(Lease) named C(flower-lease) in the hub's namespace. The playbooks of this collection take and return it themselves. For
    your own playbook that uses its roles or modules, import the playbooks federated.flower.take_lease and federated.flower.return_lease, which
    use this module.
  - >-
    Each task of this collection in between takes the lease or renews it when it begins, and a thread renews it every 15 seconds until the task ends.
    It expires 60 seconds after the last renewal, by the hub's clock, if a playbook was killed or failed before it could return it. If it expires between two
    tasks of a playbook, the next task takes it again, unless another playbook has held it in the meantime: then this task and all later ones fail.
  - >-
    Forks of a killed playbook finish their current sites and start no others; they keep the lease until then, for at
    most three minutes.
  - >-
    The variable C(flower_lease_wait) sets how many seconds to wait for a lease that someone else holds: 90 by default, which is longer than
    the lease of a killed playbook lasts; 0 refuses at once. With C(flower_lease_break=true) the lease is taken from its holder at once, after you confirm
    the holder's name. Without a terminal, set the variable to that name. With C(flower_claim_sites=true) a hub that cannot be reached is treated as lost,
    and the playbook continues without a lease.
  - In check mode no lease is taken.
  - This module is public. Changes of its options follow semantic versioning.
options:
  state:
    description:
      - V(taken) waits until the lease is free, and takes it. If nothing is deployed yet, the first task that creates the hub's namespace takes it.
      - V(returned) returns it if this run holds it. It fails if someone else has taken it in the meantime.
    type: str
    choices: [taken, returned]
    default: taken
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the rights to get, create, update and delete C(leases) of the group C(coordination.k8s.io) in the hub's namespace.
"""

EXAMPLES = r"""
---
- name: Take the lease
  federated.flower.lease:
  run_once: true
  register: __lease  # by which the tasks that follow know of it

- name: Return the lease
  federated.flower.lease:
    state: returned
  run_once: true
"""

RETURN = r"""
msg:
  description: State of the lease.
  returned: always
  type: str
taken:
  description: Whether later tasks run under the lease.
  returned: always
  type: bool
"""
