#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper
short_description: Manage the Skupper objects of a host
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    This module is a step of the roles C(federated.flower.skupper_site), C(federated.flower.skupper_listener) and C(federated.flower.skupper_link). Its
    options may change in any release.
  - >-
    A host has up to three parts in the network of Skupper (2.2.1 or later): the Site of its namespace, the Listener of a site or the Connector of the
    hub, and the link of a site to the hub. Each is that of a role: C(federated.flower.skupper_site), C(federated.flower.skupper_listener) and
    C(federated.flower.skupper_link). Options that a task does not set default to the variables of that role.
  - >-
    V(site) creates a Site and the NetworkPolicies of its router, and waits until the router runs and, if it has link access, has an address.
  - >-
    A Site that someone else created is used as it is, and never changed or deleted. Two Sites in a namespace are an
    error.
  - >-
    A Site of this collection with another name is deleted first, with everything that Skupper created for it, because
    Skupper supports one Site per namespace. The Site of the hub is never replaced or removed by that of a site in its
    namespace, nor the other way round.
  - >-
    With C(skupper_site_install), V(present) first applies the manifests of a release, or subscribes to OpenShift's operator, and waits until the
    controller is available. A controller that someone else installed is used as it is; one that this collection installed is upgraded only with
    O(upgrade), because an upgrade restarts the routers of all its sites. It fails and changes nothing if someone else installed Skupper in another way
    or in another namespace. An OperatorGroup of someone else is used as it is; one is created if the operator's namespace has none.
  - >-
    V(uninstalled) removes such a controller if no Site is left. CustomResourceDefinitions are always kept, because deleting them would delete all
    objects of their kinds. The namespace C(skupper) is deleted if this collection created it and nothing else is in it.
  - >-
    V(checked) changes nothing. It reports all faults in the variables of all three roles, and checks
    that Skupper's kinds exist and are recent enough, that the namespace does not have two Sites, and that the Listener's name is available. It refuses a
    site in the namespace of the hub, a hub in the namespace of a site, and two hosts that are one namespace.
  - >-
    V(listener) creates, on a site, the Listener that SuperNodes connect to, and waits until it has a Service and a matching
    Connector. On the hub, it creates the Connector to the gateway's port for sites. TLS is end to end: neither has
    credentials. It is an error if a Service with the Listener's name does not belong to Skupper, or if a Listener of someone else
    does not fit. One that fits is used as it is.
  - >-
    V(link) copies a client certificate of the hub's Skupper site to the site, as a Secret, and creates a Link for each group
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
  - >-
    This module is a step of the roles of the Skupper network. Its options may change in any release.
options:
  part:
    description: What to manage.
    type: str
    choices: [site, link, listener]
    required: true
  spec:
    description: The specification. Defaults to the variables of the role.
    type: dict
  state:
    description: Wanted state. V(checked) and V(uninstalled) are for the part V(site).
    type: str
    choices: [absent, checked, present, uninstalled]
    default: present
  wait:
    description: Whether to wait until a Site, Listener or Connector is ready. The error states what is missing.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait for each object.
    type: int
    default: 300
  upgrade:
    description: Whether to upgrade a controller that this collection installed.
    type: bool
    default: false
  side:
    description: With V(listener), which object to manage; it is required.
    type: str
    choices:
      - listener
      - connector
  hub:
    description: >-
      With V(link), which requires it, inventory name of the hub. The variables C(flower_auth), C(flower_kubeconfig) and C(flower_context) of that host
      select its cluster.
    type: str
  renew:
    description: Whether to replace the site's certificate even if it is not due.
    type: bool
    default: false
  step:
    description: Step of a rotation at the hub. Without it, the site is linked.
    type: str
    choices:
      - begin
      - finish
  rotate:
    description: >-
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
    description: Inventory names of the sites of the network.
    type: list
    elements: str
    default: []
  revoke:
    description: Inventory name of a site to revoke.
    type: str
    default: ""
  reports:
    description: Results of this module for the sites, for V(finish).
    type: list
    elements: dict
    default: []
  force:
    description: >-
      Continue although sites without a new certificate would lose their connection. The next run of the playbook
      C(federated.flower.site) links them again.
    type: bool
    default: false
  warn_only:
    description: >-
      Warn instead of failing if the rotation of the CA has to wait for a site. The next run continues it.
    type: bool
    default: false
  renew_before:
    description: Time before its expiry at which a certificate is due, such as V(300d). Half of its lifetime by default.
    type: str
    default: ""
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub.by_group
  - federated.flower.hub.federation
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Create the Skupper site
  federated.flower.skupper:
    part: site

- name: Link the site to the hub
  federated.flower.skupper:
    part: link
    hub: hub

- name: Create the Listener of the site
  federated.flower.skupper:
    part: listener
    side: listener
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
  description: >-
    The Site: C(name), C(namespace), C(uid), C(adopted) (created by someone else), C(ready), C(endpoints) and C(controller); empty if there is none.
    With V(link), the inventory name of the site.
  returned: success, for a site or link
  type: raw
denied:
  description: Whether the site is denied and therefore was not changed.
  returned: success, for a link
  type: bool
link:
  description: >-
    The link: C(names) and C(uids) of its Links, C(adopted), C(ready), C(remote) (C(name) and C(uid) of the hub's
    Site), C(site_uid),
    C(certificate) (public facts) and C(trusts) (serials of the CAs that the site trusts). Empty if there is none.
  returned: success, for a link
  type: dict
address:
  description: Address that SuperNodes connect to.
  returned: success, for a Listener or Connector that is present
  type: str
ready:
  description: Whether it is ready.
  returned: success, for a Listener or Connector that is present
  type: bool
adopted:
  description: Whether an object of someone else is used.
  returned: success, for a Listener or Connector that is present
  type: bool
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
