#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_listener
short_description: Manage the Skupper Listener of a site or the Connector of the hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    On a site, creates the Listener that SuperNodes connect to, and waits until it has a Service and a matching
    Connector. On the hub, creates the Connector to the gateway's port for sites. TLS is end to end: neither has
    credentials.
  - >-
    It is an error if a Service with the Listener's name does not belong to Skupper, or if a Listener of someone else
    does not fit. One that fits is used as it is.
  - This module is a step of the role C(federated.flower.skupper_listener). Its options may change in any release.
options:
  spec:
    description:
      - The specification. By default, what the variables of the role say.
    type: dict
  side:
    description:
      - Which object to manage.
    type: str
    choices:
      - listener
      - connector
    required: true
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
- name: Create the Listener of the site
  federated.flower.skupper_listener:
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
address:
  description: Address that SuperNodes connect to.
  returned: success
  type: str
ready:
  description: Whether it is ready.
  returned: success
  type: bool
adopted:
  description: Whether an object of someone else is used.
  returned: success
  type: bool
"""
