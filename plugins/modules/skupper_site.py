#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_site
short_description: Make or take away the Skupper site of a namespace
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Makes a Site (Skupper 2.2.1 or later) and the NetworkPolicies of its router, and waits until the router runs and,
    where others may link to it, has an address.
  - >-
    A Site that somebody else made is used as it is, and never changed or deleted. Two Sites in a namespace are an
    error that names them.
  - >-
    A Site of this collection with another name is deleted first, with all that Skupper made for it: Skupper serves
    one Site in a namespace.
  - >-
    Run by the role C(skupper_site).
options:
  spec:
    description:
      - The specification, put together by the role from its variables (C(__skupper_site_spec)).
    type: dict
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
- name: Make the Skupper site
  federated.flower.skupper_site:
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
site:
  description: >-
    The Site: C(name), C(namespace), C(uid), C(adopted) (made by somebody else), C(ready), C(endpoints) and
    C(controller); empty where there
    is none.
  returned: success
  type: dict
"""
