#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_restart
short_description: Restart SuperNodes that use outdated files
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    A SuperNode reads its CA bundle, its key and its shared secret only at start. This module replaces the pods that
    started before the current files existed, pool by pool. Before each pool, every SuperNode of all other sites must
    be online and no run may be active.
  - >-
    In a site that Open Cluster Management delivers to, pods cannot be queried. There all pods are replaced, one after
    the other, if a key or shared secret has changed since the last restart.
  - If a restart is not possible, this task does not fail. See RV(trouble).
  - Restart one site at a time, with C(throttle=1).
  - >-
    This module is a step of the roles C(federated.flower.supernode) and C(federated.flower.cert_rotation). Its
    options may change in any release.
options:
  namespace:
    description:
      - Namespace of the site's SuperNodes.
    type: str
    default: flower
  files:
    description:
      - Files to compare.
    type: list
    elements: str
    choices: [trust, key, superexec, loopback]
    required: true
  spec:
    description:
      - >-
        The site's specification. Required if the site creates its keys itself (C(supernode_key_source)), or if Open
        Cluster Management delivers to it (C(supernode_delivery)).
    type: dict
    default: {}
  mark:
    description:
      - RV(federated.flower.rotation#module:mark). The site's shared secret is replaced first, unless it has this identifier.
    type: str
    default: ""
  force:
    description:
      - Restart them while runs are active and SuperNodes are offline.
    type: bool
    default: false
  heal:
    description:
      - >-
        Restart them whoever is offline, since something of theirs was lost. Runs are waited for only while a SuperNode of this site is online.
    type: bool
    default: false
  wait:
    description:
      - Seconds to wait for the end of active runs.
    type: int
    default: 3600
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
- name: Restart SuperNodes whose CA bundle has changed
  federated.flower.supernode_restart:
    hub: hub
    files: [trust]
  throttle: 1
  register: restarted
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
site:
  description: Inventory name of the site.
  returned: success
  type: str
restarted:
  description: Names of the pods that were replaced.
  returned: success
  type: list
  elements: str
renewed:
  description: Whether the site's shared secret has the identifier O(mark) and all SuperNodes use it.
  returned: success
  type: bool
trouble:
  description: Reason why a restart is not possible. Empty if there is none.
  returned: success
  type: str
"""
