#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_info
short_description: Return the state of sites on an Open Cluster Management hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Returns for each site whether its cluster was selected, has all of its objects, and runs its SuperNodes.
  - Reads one list of each kind, whatever the number of sites. If the hub cannot be reached, the task does not fail.
  - This module is public. Changes of its options follow semantic versioning.
options:
  hub:
    description:
      - Inventory name of the hub. The variables C(flower_auth), C(flower_kubeconfig) and C(flower_context) of that host
        select its cluster.
    type: str
    required: true
  federation:
    description:
      - Name of the federation.
    type: str
    default: flower
  addon:
    description:
      - Name of the add-on.
    type: str
    required: true
  sites:
    description:
      - Mapping of the inventory name of each site to the name of its ManagedCluster.
    type: dict
    required: true
  timeout:
    description:
      - Seconds to wait for a response of the API server.
    type: int
    default: 30
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Read the state of two sites
  federated.flower.ocm_info:
    hub: hub
    addon: flower-supernode
    sites:
      site-a: cluster1
      site-b: cluster2
  register: behind
"""

RETURN = r"""
sites:
  description: >-
    By inventory name, the values that M(federated.flower.supernode_info) returns for other sites, and C(ocm): C(state) (C(ready), C(offline),
    C(starting), C(delivering), C(refused), C(unavailable), C(not heard), C(no add-on), C(not chosen), C(not accepted), C(being detached)
    or C(not managed)), C(ready) (bool), C(why) (text), C(cluster), C(chosen), C(availability), C(addon) (its conditions),
    C(applied) and C(available) of the ManifestWork, C(keys), C(desired), C(pods), C(online), C(clientapp)
    (C(version), C(applied), C(desired), C(pods) and C(images) of ClientApps in their own pods).
  returned: always
  type: dict
"""
