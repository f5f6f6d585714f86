#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: openshift_project
short_description: Request the projects of a hub or site on OpenShift
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    If the identity cannot create Namespaces but can request projects, as users of OpenShift can by default, requests the missing projects
    and waits until they can be used. Otherwise it does nothing: the roles create the namespaces.
  - >-
    The request contains a description that identifies the project as part of this federation. Projects of others are refused.
  - This module is public. Changes of its options follow semantic versioning.
options:
  names:
    description: The namespaces.
    type: list
    elements: str
    default: []
  site_names:
    description: The namespaces that the host has as a site. They are left out where C(flower_delivery) is not V(direct), since what delivers the objects of
      the site creates them.
    type: list
    elements: str
    default: []
  federation:
    description: Name of the federation.
    type: str
    default: flower
  platform:
    description: What the cluster is, see C(flower_platform).
    type: str
    choices: [auto, kubernetes, openshift]
    default: auto
  wait_timeout:
    description: Seconds to wait until a new project can be used.
    type: int
    default: 60
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Request the project of a site
  federated.flower.openshift_project:
    names: [flower]
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
projects:
  description: The projects that were requested.
  returned: success
  type: list
  elements: str
"""
