#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_rotation
short_description: The part of the hub in a rotation of the certificates of a Skupper network
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Replaces the certificate of the hub's Skupper router, the certificates of links, or the CA of the hub's Site,
    which signed both. Skupper makes a Secret anew when it is gone; nothing but Secrets is touched, so no Link is made
    anew and no connection is cut.
  - >-
    A CA is changed with overlap. V(begin) has a new one made, and the hub's router trust both; then every site
    changes over (M(federated.flower.skupper_link)); V(finish) has the router show a certificate of the new CA, once
    all sites have; they trust it alone when M(federated.flower.skupper_link) is run again. Where a change is, is told
    by the Secrets, so a run that broke off is gone on with.
  - >-
    With O(revoke) the change leaves a site out: V(begin) denies it in the ledger and takes away what the hub has for
    its link, and V(finish) ends all connections that were made with former certificates. Whoever has a good one
    connects again at once.
  - >-
    Where the hub's Site is somebody else's, its CA and its router's certificate are theirs to replace.
options:
  step:
    description:
      - What to do.
    type: str
    choices:
      - begin
      - finish
    required: true
  rotate:
    description:
      - >-
        What is to be replaced. V(due) for what has passed half of its lifetime, or is within O(renew_before) of
        its end.
    type: str
    choices:
      - due
      - link
      - server
      - ca
    default: due
  sites:
    description:
      - Inventory names of the sites of the network.
    type: list
    elements: str
    default: []
  revoke:
    description:
      - Inventory name of a site that is to be cut off.
    type: str
    default: ""
  reports:
    description:
      - Results of M(federated.flower.skupper_link), for V(finish).
    type: list
    elements: dict
    default: []
  force:
    description:
      - >-
        Go on although sites would be cut off that did not change over. The next run of the playbook
        C(federated.flower.site) links them again.
    type: bool
    default: false
  patient:
    description:
      - >-
        Only tell it where a change of the CA has to wait for a site; the next run goes on with it.
    type: bool
    default: false
  renew_before:
    description:
      - How long before its end something is due, as V(300d); half of its lifetime by default.
    type: str
    default: ""
  wait_timeout:
    description:
      - Seconds to wait for one thing.
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - What is asked for by name (O(rotate)) is replaced by every run.
"""

EXAMPLES = r"""
---
- name: Begin a change of the CA
  federated.flower.skupper_rotation:
    hub: hub
    step: begin
    rotate: ca
    sites: "{{ groups['flower_sites'] }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
hub_objects:
  description: Objects of the hub that changed.
  returned: when there are any
  type: list
  elements: dict
todo:
  description: What is replaced (C(link), C(server), C(ca)), and why.
  returned: with V(begin)
  type: dict
stage:
  description: Where a change of the CA is, V(settled), V(begun), V(overlap) or V(trimmed); V(none) where there is no CA.
  returned: success
  type: str
before:
  description: Public facts of all certificates that the hub knows of, before the step.
  returned: with V(begin)
  type: list
  elements: dict
after:
  description: The same after the step.
  returned: success
  type: list
  elements: dict
"""
