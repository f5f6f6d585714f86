#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_info
short_description: Read the state of the SuperNodes in the clusters of sites
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads the pools and, where something is not ready, their pods. Sites that are reached through Open Cluster Management are read from
    its hub, all at once.
  - >-
    A cluster that is down does not fail the task.
  - >-
    This module is public. Changes of its options follow semantic versioning.
options:
  timeout:
    description: Seconds to wait for an answer of an API server.
    type: int
    default: 10
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Read the state of the sites
  federated.flower.supernode_info:
  run_once: true
  register: supernodes
"""

RETURN = r"""
msg:
  description: Number of sites.
  returned: always
  type: str
sites:
  description: >-
    For each site C(reachable) and, if it is not, C(error); C(workloads) (the pools with C(desired), C(ready) and C(datasets)), C(clientapps) (those in
    their own pods, with C(pool), C(image), C(desired) and C(ready)), C(trouble) (why pods are not ready), C(skupper) (whether it is in
    a Skupper network), C(http_proxy) (the address of the proxy on its path to the hub, if there is one) and C(network) (that
    network as the site sees it: C(site), C(links), C(listeners)); C(ocm) (what the hub of Open Cluster Management reports: C(state), C(ready),
    C(why), C(cluster), C(chosen), C(availability), C(addon), C(applied), C(available), C(keys), C(desired), C(pods), C(online) and
    C(clientapp)); C(bundle) (of a bundle site: C(version), C(written), C(answered), C(waits) and C(next))
    and C(bundle_workloads) (as C(workloads), of the version that was written last, whether it was applied or not);
    C(superlink) (the address, where the SuperLink is not in the inventory).
  returned: success
  type: dict
lines:
  description: One message for each site.
  returned: the inventory has no hub
  type: list
  elements: str
problems:
  description: The messages that report a problem.
  returned: the inventory has no hub
  type: list
  elements: str
"""
