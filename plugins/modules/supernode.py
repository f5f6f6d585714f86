#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode
short_description: Deploy the SuperNodes of sites, or remove them
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Gives the sites their partitions, makes the keys and secrets that are missing, registers the keys at the SuperLink, applies the
    SuperNodes, waits until they are ready and online, and deletes keys that left. What concerns the hub is done once for all sites.
  - >-
    How a site is reached, and where its keys are made, is what C(flower_delivery) and C(flower_key_source) of its host say.
  - >-
    Private keys are in no result, diff or message.
  - >-
    This module is a step of the roles C(federated.flower.supernode) and C(federated.flower.clientapp). Its options may change in any release.
options:
  state:
    description:
      - V(absent) removes what was deployed, with its secrets. Volumes are deleted in sites whose variable
        C(flower_delete_volumes) is true.
    type: str
    choices: [present, absent]
    default: present
  part:
    description:
      - V(clientapp) deploys nothing but the ClientApps of sites where they run in their own pods, as the variables of the role
        clientapp of each site say.
    type: str
    choices: [all, clientapp]
    default: all
  renew:
    description:
      - What is replaced although it is good. V(keys) goes site by site and restarts SuperNodes; V(client) is the key of the client
        certificate.
    type: list
    elements: str
    choices: [keys, client]
    default: []
  wait:
    description:
      - Seconds to wait for the end of active runs before pods are restarted, with O(renew).
    type: int
    default: 3600
  force:
    description:
      - Restart pods even if a run is active or SuperNodes are offline.
    type: bool
    default: false
  before:
    description:
      - Site to what ran there before an upgrade (C(version), C(workloads)). These sites get that release and those images again, whatever
        their variables say.
    type: dict
    default: {}
  image_seconds:
    description:
      - Seconds for which nodes may fail to get an image before a site fails. With V(0) it is a minute where a registry refuses the image or
        the login; otherwise as long as for anything else, since a registry may come back. For sites that are reached directly.
    type: int
    default: 0
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Deploy the SuperNodes
  federated.flower.supernode:
  run_once: true
  register: deployed

- name: Report the site
  federated.flower.site_result:
    results: ["{{ deployed.sites[inventory_hostname] | default({}) }}"]
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg), and where there are any C(objects) (what became of each), C(diff), C(warnings) and
    C(requests).
  returned: success
  type: dict
"""
