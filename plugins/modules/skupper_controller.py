#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_controller
short_description: Install or remove Skupper's controller
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Applies the manifests of a release, or subscribes to OpenShift's operator, and waits until the controller is
    available. Objects without a namespace get one, as with C(kubectl -n).
  - >-
    A controller that someone else installed is used as it is. A controller that this module installed is upgraded to
    other manifests only with O(upgrade), because an upgrade restarts the routers of all its sites.
  - >-
    Fails and changes nothing if someone else installed Skupper in another way or in another namespace: the manifests
    would overwrite its CustomResourceDefinitions, and a second controller would serve the same Sites.
  - An OperatorGroup of someone else is used as it is. One is created if the operator's namespace has none.
  - >-
    The controller is removed only if no Site is left. CustomResourceDefinitions are always kept, because deleting
    them would delete all objects of their kinds. The namespace C(skupper) is deleted if this module created it and
    nothing else is in it.
  - Needs rights to create CustomResourceDefinitions, ClusterRoles and namespaces, or subscriptions.
  - This module is a step of the role C(federated.flower.skupper_site). Its options may change in any release.
options:
  spec:
    description:
      - The specification. By default, what the variables of the role say.
    type: dict
  upgrade:
    description:
      - Whether to upgrade a controller that this module installed.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.skupper
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Install Skupper's controller
  federated.flower.skupper_controller:
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
namespace:
  description: Namespace of the controller.
  returned: success
  type: str
"""
