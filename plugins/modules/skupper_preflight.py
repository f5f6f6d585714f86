#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_preflight
short_description: Look at variables and cluster of a Skupper site before anything is changed
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Fails with all that is wrong with the variables of the roles C(skupper_site), C(skupper_listener) and
    C(skupper_link); then when Skupper's CustomResourceDefinitions are missing or too old, when the controller is,
    when the namespace has two Sites, or when something else has the name that the Listener needs.
options:
  site:
    description:
      - The specification of the Site (C(__skupper_site_spec)).
    type: dict
    required: true
  listener:
    description:
      - That of the Listener or Connector.
    type: dict
    required: true
  link:
    description:
      - That of the link; empty for the hub.
    type: dict
    default: {}
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Look at variables and cluster
  federated.flower.skupper_preflight:
    site: "{{ __skupper_site_spec }}"
    listener: "{{ __skupper_site_listener }}"
    link: "{{ __skupper_site_link }}"
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
"""
