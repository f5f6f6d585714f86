#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_site
short_description: Manage the Skupper site of a namespace
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Creates a Site (Skupper 2.2.1 or later) and the NetworkPolicies of its router, and waits until the router runs
    and, if it has link access, has an address.
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
    V(checked) changes nothing. It reports all faults in the variables of the roles C(skupper_site), C(skupper_listener) and C(skupper_link), and checks
    that Skupper's kinds exist and are recent enough, that the namespace does not have two Sites, and that the Listener's name is available. It refuses a
    site in the namespace of the hub, a hub in the namespace of a site, and two hosts that are one namespace.
  - This module is a step of the role C(federated.flower.skupper_site). Its options may change in any release.
options:
  spec:
    description:
      - The specification. By default, what the variables of the role say, as for the other options.
    type: dict
  state:
    description:
      - What is done.
    type: str
    choices: [absent, checked, present, uninstalled]
    default: present
  upgrade:
    description:
      - Whether to upgrade a controller that this collection installed.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.skupper
  - federated.flower.skupper.wait
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Create the Skupper site
  federated.flower.skupper_site:
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
site:
  description: >-
    The Site: C(name), C(namespace), C(uid), C(adopted) (created by someone else), C(ready), C(endpoints) and
    C(controller); empty if there
    is none.
  returned: success
  type: dict
"""
