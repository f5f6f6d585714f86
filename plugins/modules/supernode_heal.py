#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode_heal
short_description: Restart SuperNodes that run but are not online
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    A SuperNode can lose its SuperLink and stay alive, with probes that succeed. Finds the SuperNodes whose pods are ready, but which are
    offline at the SuperLink, deletes their pods one after the other at each site, and waits until each is online again. Sites are served at
    the same time. After half an hour no further pod is deleted; the next run goes on.
  - >-
    Nothing is restarted if the SuperLink does not run or has just started, or if the SuperNodes of all of several sites are offline. That the
    SuperLink does not run is in RV(fault), and no error, so that a playbook can repair it.
  - >-
    A SuperNode that does not come back is restarted again after 5, 15 and 60 minutes, and then reported only. If no SuperNode of a site is
    online, the same is true of the site. The site's record on the hub remembers it.
  - >-
    At a site that is reached through Open Cluster Management, pods cannot be restarted from here: its SuperNodes are reported.
  - >-
    This module is a step of the playbook C(federated.flower.reconcile). Its options may change in any release.
options:
  restart:
    description:
      - Restart them; otherwise show what would be restarted.
    type: bool
    default: false
  all:
    description:
      - Restart all of a site at once.
    type: bool
    default: false
  after:
    description:
      - Seconds for which a pod must have been ready, and its SuperNode offline, and the SuperLink running.
    type: int
    default: 180
  wait_timeout:
    description:
      - Seconds to wait until a restarted SuperNode is online.
    type: int
    default: 180
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - federated.flower.hub.name
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Restart SuperNodes that run but are not online
  federated.flower.supernode_heal:
    hub: hub
    restart: true
  run_once: true
"""

RETURN = r"""
msg:
  description: How many SuperNodes were healed, are to be restarted, wait, and are given up.
  returned: always
  type: str
healed:
  description:
    - SuperNodes that are online after a restart, each with C(site), C(pool), C(name), C(node_id), C(pod), C(why) and C(seconds).
    - C(seconds) is the time within which it was back. All sites are looked at together, so a site that answers late adds to that of others.
  returned: success
  type: list
  elements: dict
due:
  description: SuperNodes that O(restart) would restart.
  returned: success
  type: list
  elements: dict
waiting:
  description: SuperNodes that are left alone for now.
  returned: success
  type: list
  elements: dict
given_up:
  description: SuperNodes that no further restart is tried for.
  returned: success
  type: list
  elements: dict
unreadable:
  description: Why sites could not be read, by site.
  returned: success
  type: dict
fault:
  description: What is wrong at the hub, so that nothing more is restarted; empty if nothing is.
  returned: success
  type: str
pause:
  description: Why nothing is restarted yet; empty if that is not so.
  returned: success
  type: str
held:
  description: Hosts that are not repaired, since an upgrade is not complete and they were rolled back in it, or their turn has not come.
  returned: success
  type: list
  elements: str
upgrade:
  description: How far that upgrade is; empty where there is none.
  returned: success
  type: str
lines:
  description: What was found of the SuperNodes in sentences.
  returned: success
  type: list
  elements: str
sites:
  description: For each site C(changed) and C(msg).
  returned: success
  type: dict
"""
