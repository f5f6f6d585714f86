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
    holds the lease, a C(Lease) named C(flower-lease) in the hub's namespace. The playbooks of this collection take and return it themselves. Use
    this module for a playbook of your own that uses its roles or modules.
  - >-
    While the playbook runs, a process on the control node renews the lease every 10 seconds. It also returns the lease when the
    playbook ends without doing so. Forks of a playbook that was killed finish what they do at the sites at which they are, and
    begin with no other; the lease is kept until they have ended, for 10 minutes at most. When the playbook is killed together with
    this process, as with the pod of a job, or when the hub cannot be reached, the lease ends 30 seconds after the last renewal, by
    the hub's clock.
  - >-
    If the lease has ended meanwhile and someone else took it, the next task of this collection fails in the playbook that lost it.
    Only M(federated.flower.audit) goes on, which records what was changed.
  - In check mode no lease is taken.
  - A run that holds the lease takes it only once.
  - This module is public. Changes of its options follow semantic versioning.
options:
  state:
    description:
      - V(taken) waits until the lease is free, and takes it. If nothing is deployed yet, there is no place for it, see RV(missing).
      - V(returned) returns it if this run holds it. It fails if someone else took it meanwhile.
    type: str
    choices: [taken, returned]
    default: taken
  wait:
    description:
      - Seconds to wait for a lease that someone else holds. V(0) refuses at once.
      - The default is longer than the lease of a playbook that was killed lasts.
    type: int
    default: 60
  claim:
    description:
      - Whether to continue without a lease, with a warning, if the hub cannot be reached. For a hub that is lost.
    type: bool
    default: false
  any_state:
    description:
      - Whether the lease of a hub that does not serve is taken, too, that is, of a standby, of one that another hub took over from, or of one whose
        restore was interrupted. The playbooks C(federated.flower.standby), C(federated.flower.failover) and C(federated.flower.restore) set it.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.hub.by_group
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
notes:
  - Needs the rights to get, create, update and delete C(leases) of the group C(coordination.k8s.io) in the hub's namespace.
seealso:
  - module: federated.flower.audit
"""

EXAMPLES = r"""
---
- name: Take the lease
  federated.flower.lease:
    wait: 600
  run_once: true

- name: Return the lease
  federated.flower.lease:
    state: returned
  run_once: true
"""

RETURN = r"""
msg:
  description: Who holds the lease, or why there is none.
  returned: always
  type: str
missing:
  description: Whether there is no namespace for the lease yet. Take it again when there is one.
  returned: when O(state=taken), but not in check mode
  type: bool
"""
