#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_rotation
short_description: Rotate the certificates of a Skupper network
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Performs the steps of the hub. Replaces the certificate of the hub's Skupper router, the certificates of links, or
    the CA of the hub's Site, which signed both. Skupper recreates a deleted Secret. Only Secrets are changed, so no
    Link is recreated and no connection is closed.
  - >-
    The CA is rotated with an overlap. V(begin) creates a new CA, and the hub's router trusts both. Then every site
    gets a certificate of the new CA (M(federated.flower.skupper_link)). V(finish) has the router present a
    certificate of the new CA, after all sites have theirs. The sites trust only the new CA after another run of
    M(federated.flower.skupper_link). The state of the rotation is stored in the Secrets, so an interrupted rotation
    is continued.
  - >-
    With O(revoke) the rotation excludes a site. V(begin) denies it in the ledger and deletes the hub's objects for
    its link, and V(finish) closes all connections that use previous certificates. Sites with a valid certificate
    reconnect at once. If a rotation has not been finished, and its CA may have signed a certificate of the site,
    V(begin) creates yet another CA.
  - If someone else created the hub's Site, its CA and its router's certificate are not rotated.
  - This module is a step of the role C(federated.flower.skupper_link). Its options may change in any release.
options:
  step:
    description:
      - Step of the rotation.
    type: str
    choices:
      - begin
      - finish
    required: true
  rotate:
    description:
      - >-
        What to replace. V(due) is everything that has passed half of its lifetime, or expires within
        O(renew_before).
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
      - Inventory name of a site to revoke.
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
        Continue although sites without a new certificate would lose their connection. The next run of the playbook
        C(federated.flower.site) links them again.
    type: bool
    default: false
  patient:
    description:
      - >-
        Warn instead of failing if the rotation of the CA has to wait for a site. The next run continues it.
    type: bool
    default: false
  renew_before:
    description:
      - Time before its expiry at which a certificate is due, such as V(300d). Half of its lifetime by default.
    type: str
    default: ""
  wait_timeout:
    description:
      - Seconds to wait for each object.
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.attributes
attributes:
  idempotent:
    support: partial
    details:
      - Every run replaces what O(rotate) names, except with V(due).
"""

EXAMPLES = r"""
---
- name: Start a rotation of the CA
  federated.flower.skupper_rotation:
    hub: hub
    step: begin
    rotate: ca
    sites: "{{ groups['flower_sites'] }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
hub_objects:
  description: Changed objects of the hub.
  returned: when there are any
  type: list
  elements: dict
todo:
  description: What is replaced (C(link), C(server), C(ca)), with the reason.
  returned: with V(begin)
  type: dict
stage:
  description: State of the rotation of the CA, V(settled), V(begun), V(overlap) or V(trimmed); V(none) if there is no CA.
  returned: success
  type: str
before:
  description: Public facts of all certificates on the hub before the step.
  returned: with V(begin)
  type: list
  elements: dict
after:
  description: The same after the step.
  returned: success
  type: list
  elements: dict
"""
