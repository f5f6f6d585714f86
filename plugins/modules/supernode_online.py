#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_online
short_description: Wait until the SuperNodes of sites are online
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Polls the SuperLink until all wanted SuperNodes are online or the timeout has passed. Then unregisters the
    SuperNodes that are no longer wanted. Does not wait for SuperNodes of denied sites
    (M(federated.flower.site_access)).
  - Revokes client certificates of keys that a site has replaced.
  - >-
    SuperNodes that are not online do not fail this task. M(federated.flower.supernode_confirm) fails the site that
    they belong to.
  - Works on all sites at once. Use it with C(run_once).
  - This module is a step of the role C(federated.flower.supernode). Its options may change in any release.
options:
  sites:
    description:
      - Results of M(federated.flower.supernode_keys).
    type: list
    elements: dict
    required: true
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.hub.wait
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
- name: Wait until the SuperNodes are online
  federated.flower.supernode_online:
    hub: hub
    sites: "{{ ansible_play_hosts | map('extract', hostvars, 'keys') }}"
  run_once: true
  register: online
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
sites:
  description: For each site C(expected), C(online), C(missing), C(denied) (C(since) and C(reason); empty if it is not denied) and C(fault).
  returned: success
  type: dict
"""
