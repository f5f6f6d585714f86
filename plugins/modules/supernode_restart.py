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
    A SuperNode reads its CA bundle, its key and its shared secret once. Replaces the pods that started before the current files existed, site
    by site and pool by pool; before each pool every SuperNode of all other sites must be online and no run may be active.
  - >-
    At a site that is reached through Open Cluster Management, pods cannot be asked. There all of them are replaced, one after the other,
    when a key or shared secret is another one than at their last restart.
  - >-
    What prevents a site from continuing does not fail it; C(trouble) has the reason.
  - >-
    This module is a step of the role C(federated.flower.cert_rotation). Its options may change in any release.
options:
  files:
    description:
      - Which files count.
    type: list
    elements: str
    choices: [trust, key, superexec, loopback]
    required: true
  mark:
    description:
      - RV(federated.flower.rotation#module:mark). The site's shared secret is replaced first, unless it carries it.
    type: str
    default: ""
  force:
    description:
      - Restart them even if a run is active or SuperNodes are offline.
    type: bool
    default: false
  wait:
    description:
      - Seconds to wait for the end of active runs.
    type: int
    default: 3600
  wait_timeout:
    description:
      - Seconds to wait for restarted pods, and until their SuperNodes are online.
    type: int
    default: 300
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Restart SuperNodes whose trust has changed
  federated.flower.supernode_restart:
    files: [trust]
  run_once: true
  register: restarted
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg), and where there are any C(objects) (what became of each), C(diff), C(warnings) and
    C(requests); C(site), C(restarted) (names of the pods that
    were replaced), C(renewed) (whether the shared secret carries the mark and all SuperNodes run with it) and C(trouble).
  returned: success
  type: dict
"""
