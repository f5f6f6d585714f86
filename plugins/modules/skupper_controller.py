#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_controller
short_description: Install Skupper's controller, or take it away
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Applies the manifests of a release, or subscribes to OpenShift's operator, and waits until the controller is
    available. Objects without a namespace get one as C(kubectl -n) would give it.
  - >-
    A controller that somebody else installed is used as it is. One that this module installed is brought to other
    manifests only when O(upgrade) says so: an upgrade restarts the routers of all its sites.
  - >-
    It is taken away only when no Site is left. CustomResourceDefinitions always stay: with them all objects of their
    kinds would go.
  - >-
    Needs far-reaching rights on the cluster: to make CustomResourceDefinitions, ClusterRoles and namespaces, or
    subscriptions.
options:
  spec:
    description:
      - The specification, put together by the role from its variables (C(__skupper_site_spec)).
    type: dict
    required: true
  upgrade:
    description:
      - Whether a controller that this module installed is brought to the manifests.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.skupper
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Install Skupper's controller
  federated.flower.skupper_controller:
    spec: "{{ __skupper_site_spec }}"
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
objects:
  description: What became of each object (see M(federated.flower.apply)).
  returned: success
  type: list
  elements: dict
namespace:
  description: Namespace of the controller.
  returned: success
  type: str
"""
