#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: lease
short_description: Take the lease of the fleet, or return it
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Of several playbooks that change one fleet, from whatever control node or controller, one goes on at a time: the one that
    holds the lease, a C(Lease) named C(flower-lease) in the hub's namespace. The playbooks of this collection take and return it themselves. For a
    playbook of your own that uses its roles or modules, import the playbooks federated.flower.take_lease and federated.flower.return_lease, which
    use this module.
  - >-
    Each task of this collection in between takes the lease or renews it when it begins, and a thread renews it every 15 seconds until the task ends.
    It ends 60 seconds after the last renewal, by the hub's clock: after a playbook was killed, or failed before it could return it. If that happens
    between two tasks of a playbook, the next one takes it again, unless another playbook has had it meanwhile: then the task fails, and so do all
    others.
  - >-
    Forks of a playbook that was killed finish what they do at the sites at which they are, and begin with no other; they keep the lease until then, for
    three minutes at most.
  - >-
    The variable C(flower_lease_wait) says for how many seconds the lease of someone else is waited for, 90 by default, which is longer than that of a
    playbook that was killed lasts; 0 refuses at once. With C(flower_lease_break=true) it is taken at once from its holder, after a question that is
    answered by the holder's name. Where there is no terminal, the variable has that name. With C(flower_claim_sites=true) a hub that cannot be reached is
    taken for lost, and the playbook goes on without a lease.
  - In check mode no lease is taken.
  - This module is public. Changes of its options follow semantic versioning.
options:
  state:
    description:
      - V(taken) waits until the lease is free, and takes it. Where nothing is deployed yet, the first task that creates the hub's namespace takes it.
      - V(returned) returns it if this run holds it. It fails if someone else took it meanwhile.
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
  description: What became of the lease.
  returned: always
  type: str
taken:
  description: Whether the tasks that follow work under the lease.
  returned: always
  type: bool
"""
