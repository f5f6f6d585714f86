#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_forget
short_description: Unregister the SuperNodes of removed sites
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Unregisters all SuperNodes of the sites at the SuperLink, deletes their records from the ledger and frees their
    partitions.
  - >-
    Revokes their client certificates, so that the gateway refuses them. A denied site stays denied if it is added
    again.
  - Flower never accepts the keys of unregistered SuperNodes again. A site that is added again gets new keys.
  - >-
    If O(inventory) is given, a site to which the hub still delivers through Open Cluster Management is not forgotten, and neither is one
    of which this cannot be determined.
  - >-
    A site whose SuperNodes cannot be unregistered keeps its record, and so does one whose record another run has changed in the meantime
    or this federation did not create. The task then fails after all other sites.
  - >-
    This module is a step of the playbooks C(federated.flower.site) and C(federated.flower.teardown). Its options may
    change in any release.
options:
  sites:
    description:
      - Names of the sites, a list or a comma-separated string. They do not have to be in the inventory.
      - V(true) is refused, because a site can be missing from the inventory by mistake.
    type: raw
    required: true
  inventory:
    description:
      - Sites of the inventory, which are refused. If the list is empty, all are refused unless O(max) is set.
      - If this is not given, every site may be forgotten, as in a teardown, which is confirmed.
    type: list
    elements: str
  max:
    description: How many sites may be forgotten at once. By default half of those that the ledger knows, at least one and at most ten; all if O(inventory) is
      not given.
    type: int
  validate:
    description: Report what would be refused, and change nothing.
    type: bool
    default: false
  hub_left_out:
    description: Whether the run excludes the host of the hub, so that it does not end the delivery by Open Cluster Management.
    type: bool
    default: false
  removed:
    description: Sites that a teardown removes together with the hub. If it is set, nothing is changed, and the result has RV(others). O(sites) are then those
      that may lose their hub. With O(validate), the task only warns if the hub cannot be queried.
    type: list
    elements: str
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.hub.wait
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Forget a site
  federated.flower.supernode_forget:
    hub: hub
    sites: [site-c]
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
nodes:
  description: Node ids that were unregistered; none where the SuperLink is removed already.
  returned: success
  type: list
  elements: str
others:
  description: Sites with registered SuperNodes that are neither in O(sites) nor in O(removed).
  returned: when O(removed) is set
  type: list
  elements: str
sites:
  description: Names of the sites that were forgotten, now or before. Sites without a record in the ledger are not listed.
  returned: success
  type: list
  elements: str
"""
