#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_listener
short_description: Make or take away the Skupper listener of a site, or the connector of the hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    On a site, makes the Listener that SuperNodes dial, and waits until it has a Service and a connector matches it.
    On the hub, makes the Connector to the gateway's door for sites. TLS passes through from end to end: neither has
    credentials of its own.
  - >-
    A Service of the Listener's name that is none of Skupper's, and a Listener of somebody else's that does not fit,
    are errors that name them. One that fits is used as it is.
  - >-
    Run by the role C(skupper_listener).
options:
  spec:
    description:
      - The specification, put together by the role from its variables (C(__skupper_listener_spec)).
    type: dict
    required: true
  side:
    description:
      - What is made.
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
- name: Make the way to the SuperLink
  federated.flower.skupper_listener:
    spec: "{{ __skupper_listener_spec }}"
    side: listener
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
address:
  description: What SuperNodes dial.
  returned: success
  type: str
ready:
  description: Whether it was ready in the end.
  returned: success
  type: bool
adopted:
  description: Whether somebody else's is used.
  returned: success
  type: bool
"""
