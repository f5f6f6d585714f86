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
  - This module is a step of the role C(federated.flower.skupper_site). Its options may change in any release.
options:
  spec:
    description:
      - The specification. By default, what the variables of the role say.
    type: dict
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
