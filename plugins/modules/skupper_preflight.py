#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_preflight
short_description: Check the variables and the cluster of a Skupper site
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reports all faults in the variables of the roles C(skupper_site), C(skupper_listener) and C(skupper_link). Then
    checks that Skupper's CustomResourceDefinitions exist and are recent enough, that the controller is installed,
    that the namespace does not have two Sites, and that the Listener's name is available.
  - >-
    Refuses a site in the namespace of the hub, a hub in the namespace of a site, two hosts that are one namespace, and
    the installation of a controller beside one that someone else installed in another way.
  - This module is a step of the role C(federated.flower.skupper_site). Its options may change in any release.
options:
  site:
    description:
      - The specification. By default, what the variables of the role say.
    type: dict
  listener:
    description:
      - The specification of the Listener or Connector, likewise.
    type: dict
  link:
    description:
      - The specification of the link, likewise. Empty for the hub.
    type: dict
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Check variables and cluster
  federated.flower.skupper_preflight:
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
"""
