#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_link
short_description: Link a Skupper site to the hub, remove the link, or rotate the network's certificates
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Copies a client certificate of the hub's Skupper site to the site, as a Secret, and creates a Link for each group
    of the hub's endpoints. Then waits until a Link is operational and leads to the hub's Site, which is compared by
    uid.
  - >-
    The first certificate is obtained in one of two modes (C(mode) of O(spec)). With V(direct) the hub's Skupper
    issues it from a Certificate, and this module copies it to the site in memory. With V(token) the site's controller
    fetches it from the hub's grant server, with an AccessToken for one redemption. A token that expired, was used up,
    was refused, or was redeemed for a deleted Site, is replaced.
  - >-
    Afterwards both modes are the same. Secret and Links are updated in place if the address of the hub changes, if
    its CA changes, and after half of the certificate's lifetime (or C(renew_before) of O(spec) before its expiry).
    Links are not recreated.
  - >-
    While the hub's router does not trust the current CA, because a rotation was interrupted, the link keeps its
    certificate, with a warning. A site without a certificate that the router accepts is not linked until the rotation
    continues.
  - >-
    A site with a Link to the hub that someone else created is not changed. A denied site
    (M(federated.flower.site_access)) is neither linked nor renewed.
  - >-
    With O(step), performs the steps of a rotation at the hub. Replaces the certificate of the hub's Skupper router, the certificates of links, or
    the CA of the hub's Site, which signed both. Skupper recreates a deleted Secret. Only Secrets are changed, so no
    Link is recreated and no connection is closed.
  - >-
    The CA is rotated with an overlap. V(begin) creates a new CA, and the hub's router trusts both. Then every site
    gets a certificate of the new CA. V(finish) has the router present a
    certificate of the new CA, after all sites have theirs. The sites trust only the new CA after another run without O(step). The state of the
    rotation is stored in the Secrets, so an interrupted rotation is continued.
  - >-
    With O(revoke) the rotation excludes a site. V(begin) denies it in the ledger and deletes the hub's objects for
    its link, and V(finish) closes all connections that use previous certificates. Sites with a valid certificate
    reconnect at once. If a rotation has not been finished, and its CA may have signed a certificate of the site,
    V(begin) creates yet another CA.
  - If someone else created the hub's Site, its CA and its router's certificate are not rotated.
  - This module is a step of the role C(federated.flower.skupper_link). Its options may change in any release.
options:
  spec:
    description:
      - The specification. By default, what the variables of the role say.
    type: dict
  hub:
    description:
      - >-
        Inventory name of the hub. The variables C(flower_auth), C(flower_kubeconfig) and C(flower_context) of that host
        select its cluster.
    type: str
    required: true
  renew:
    description:
      - Whether to replace the site's certificate even if it is not due.
    type: bool
    default: false
  step:
    description:
      - Step of a rotation at the hub. Without it, the site is linked.
    type: str
    choices:
      - begin
      - finish
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
  warn_only:
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
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.skupper
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Link the site to the hub
  federated.flower.skupper_link:
    hub: hub
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
objects:
  description: Result for each object (see M(federated.flower.apply)).
  returned: success
  type: list
  elements: dict
hub_objects:
  description: Changed objects of the hub.
  returned: when there are any
  type: list
  elements: dict
site:
  description: The site.
  returned: success
  type: str
denied:
  description: Whether the site is denied and therefore was not changed.
  returned: success
  type: bool
link:
  description: >-
    The link: C(names) and C(uids) of its Links, C(adopted), C(ready), C(remote) (C(name) and C(uid) of the hub's
    Site), C(site_uid),
    C(certificate) (public facts) and C(trusts) (serials of the CAs that the site trusts). Empty if there is none.
  returned: success
  type: dict
todo:
  description: What is replaced (C(link), C(server), C(ca)), with the reason.
  returned: with O(step)
  type: dict
stage:
  description: State of the rotation of the CA, V(settled), V(begun), V(overlap) or V(trimmed); V(none) if there is no CA.
  returned: with O(step)
  type: str
before:
  description: Public facts of all certificates on the hub before the step.
  returned: with O(step)
  type: list
  elements: dict
after:
  description: The same after the step.
  returned: with O(step)
  type: list
  elements: dict
"""
