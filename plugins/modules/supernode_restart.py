#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_restart
short_description: Restart SuperNodes that run with older files than their site holds
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    A SuperNode reads its trust, its key and its shared secret once. Replaces the pods that began before the present
    files were there, pool by pool; before each pool every SuperNode of all other sites has to be online and no run may
    be active.
  - >-
    At a site that is reached through Open Cluster Management, pods cannot be asked. There all of them are replaced, one after the
    other, when a key or shared secret is another one than at their last restart.
  - >-
    What keeps it from going on does not fail this task; RV(trouble) says so.
  - Let one site do this at a time, with C(throttle=1).
options:
  namespace:
    description:
      - Namespace of the site's SuperNodes.
    type: str
    default: flower
  files:
    description:
      - Which files count.
    type: list
    elements: str
    choices: [trust, key, superexec, loopback]
    required: true
  spec:
    description:
      - >-
        The site's specification; needed where the site makes its keys itself (C(supernode_key_source)), or is reached through Open
        Cluster Management (C(supernode_delivery)).
    type: dict
    default: {}
  mark:
    description:
      - RV(federated.flower.rotation#module:mark). The site's shared secret is made anew first, unless it carries it.
    type: str
    default: ""
  force:
    description:
      - Restart them whatever runs and whoever is offline.
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
- name: Restart SuperNodes whose trust has changed
  federated.flower.supernode_restart:
    hub: hub
    files: [trust]
  throttle: 1
  register: restarted
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
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
  description: Whether the site's shared secret carries the mark and all SuperNodes run with it.
  returned: success
  type: bool
trouble:
  description: What keeps it from going on; empty when all is well.
  returned: success
  type: str
"""
