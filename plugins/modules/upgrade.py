#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade
short_description: Do one step of an upgrade of the fleet
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Plans an upgrade, keeps in a ConfigMap of the hub what ran before it and how far it is, waits for the end of runs, and judges the
    hub and each wave of sites. Deploying is what other modules do.
  - >-
    This module is a step of the playbook C(federated.flower.upgrade). Its options may change in any release.
options:
  step:
    description:
      - V(plan) compares what runs with what is wanted; V(begin) keeps what runs and waits for the end of runs; V(hub_begin) waits for those that
        were submitted since, and keeps that the hub is changed from now on; V(hub) waits for the hub, and V(hub_back) for a hub that was rolled
        back; V(wave) takes the sites out of a wave that M(federated.flower.supernode) reports as failed, and waits for the end of runs;
        V(gate) judges a wave; V(settle) keeps what became of it; V(finish) ends the upgrade.
    type: str
    required: true
    choices: [plan, begin, hub_begin, hub, hub_back, wave, gate, settle, finish]
  superlink:
    description:
      - Result of M(federated.flower.superlink_info).
    type: dict
    default: {}
  supernodes:
    description:
      - Sites in the result of M(federated.flower.supernode_info).
    type: dict
    default: {}
  hub_checked:
    description:
      - Result of M(federated.flower.superlink) with C(state=checked).
    type: dict
    default: {}
  sites_checked:
    description:
      - RV(federated.flower.supernode#module:sites) of checked sites.
    type: dict
    default: {}
  sites:
    description:
      - All sites, or those of the wave.
    type: list
    elements: str
    default: []
  waves:
    description:
      - Order of the sites. A list, each entry the name of a site or of a group, a share of what is left such as V(25%), or a list of
        these. One site and then all others if it is not set.
    type: raw
  max_failed:
    description:
      - Number of sites that may fail.
    type: int
    default: 0
  wait:
    description:
      - Seconds to wait for the end of active runs. V(0) refuses at once.
    type: int
    default: 3600
  wait_timeout:
    description:
      - Seconds to wait for the SuperLink or the SuperNodes.
    type: int
    default: 300
  backup:
    description:
      - Whether the hub must be backed up before it is changed.
    type: bool
    default: true
  archive:
    description:
      - Backup that was written.
    type: str
    default: ""
  can_back_up:
    description:
      - Whether the variables of a backup are set.
    type: bool
    default: false
  plan:
    description:
      - Result of the step V(plan).
    type: dict
    default: {}
  pulled:
    description:
      - C(sites) of M(federated.flower.supernode), of the wave.
    type: dict
    default: {}
  deployed:
    description:
      - Result of M(federated.flower.supernode), of the wave or of those that were rolled back.
    type: dict
    default: {}
  gate:
    description:
      - Result of the step V(gate), or V(hub).
    type: dict
    default: {}
  run:
    description:
      - C(status) and C(msg) of the acceptance run.
    type: dict
    default: {}
  accepted:
    description:
      - C(sites) of M(federated.flower.supernode_acceptance), of the wave; empty if that is not wanted.
    type: dict
    default: {}
  failed:
    description:
      - Sites that failed in earlier waves.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Plan the upgrade
  federated.flower.upgrade:
    hub: hub
    step: plan
    superlink: "{{ superlink }}"
    supernodes: "{{ supernodes.sites }}"
    hub_checked: "{{ superlink_checked }}"
    sites_checked: "{{ site_checked.sites }}"
    sites: "{{ groups['flower_sites'] }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: A sentence.
  returned: always
  type: str
todo:
  description: Whether there is anything to do.
  returned: for the step plan
  type: bool
lines:
  description: The plan for people.
  returned: for the step plan
  type: list
  elements: str
waves:
  description: Lists of sites.
  returned: for the step plan
  type: list
  elements: list
back:
  description: What is to be rolled back, site to what it ran, or variables of the hub's role.
  returned: for the steps hub and gate
  type: dict
stop:
  description: Whether the upgrade stops.
  returned: for the steps wave, gate and settle
  type: bool
sites:
  description: Result of each site that failed or was rolled back.
  returned: for the step settle
  type: dict
"""
