#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade
short_description: Upgrade the hub, then the sites in waves
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Upgrades a fleet to the release of Flower and the images that its inventory sets: waits until runs have ended, backs up and deploys the hub,
    and deploys the sites in waves. A wave that fails is rolled back, and the upgrade stops.
  - >-
    A ConfigMap of the hub stores the previous versions and the progress of the upgrade until it is complete. A later task continues an interrupted upgrade.
  - >-
    The task runs on the hub, once, after the checks of the playbook and under its lease. Options that are not set have the values of the variables
    C(flower_upgrade_app), C(flower_upgrade_waves) and so on.
  - >-
    This module is a step of the playbook C(federated.flower.upgrade). Its options may change in any release.
options:
  app:
    description: Folder of an app that is run after each wave that changed something and in which no site failed.
    type: path
  app_config:
    description: Its run config.
    type: dict
    default: {}
  backup:
    description: Whether the hub is backed up before it is changed, with the variables of the playbook C(federated.flower.backup).
    type: bool
    default: true
  max_failed:
    description: Total number of sites that may fail before the upgrade stops.
    type: int
    default: 0
  verify:
    description: Whether a site also fails whose SuperNodes M(federated.flower.supernode_acceptance) does not accept.
    type: bool
    default: false
  wait:
    description: Seconds to wait for the end of active runs. V(0) refuses at once.
    type: int
    default: 3600
  wait_timeout:
    description: Seconds to wait for SuperNodes. The default is that of the role superlink.
    type: int
  waves:
    description: Order of the sites. A list, each entry the name of a site or of a group, a number of sites, a share of all of them such as V(25%), or a list
      of these. One site, and then the batches of C(flower_serial), if it is not set.
    type: raw
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub.federation
  - federated.flower.hub.namespace
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Upgrade the fleet
  federated.flower.upgrade:
    waves: [site-a, 25%]
  run_once: true
  register: upgraded

- name: Report each host
  federated.flower.site_result:
    results: "{{ upgraded.sites[inventory_hostname] | default([]) }}"
"""

RETURN = r"""
msg:
  description: Result of the upgrade.
  returned: always
  type: str
plan:
  description: What was to be upgraded, as lines of text.
  returned: always
  type: list
  elements: str
sites:
  description: Results of each host that was worked on, for M(federated.flower.site_result). That of the hub reports why the upgrade stopped.
  returned: always
  type: dict
"""
