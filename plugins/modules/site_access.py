#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: site_access
short_description: Deny a site, or admit it again
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    A denied site is refused by the gateway with its next request, also over connections that are open. Its SuperNodes try
    again and again and hold nobody up; other sites do not notice. An admitted site comes back with the same SuperNodes.
  - >-
    A denial is noted in the ledger and in the gateway's files, so it survives a reload, a restart and a new run of
    C(federated.flower.site), until somebody admits the site. It survives that the site is forgotten, too.
  - >-
    The gateway knows sites by their client certificates, so it has to ask for them.
options:
  site:
    description:
      - Inventory name of the site.
    type: str
    required: true
  state:
    description:
      - What the site is to be.
    type: str
    choices:
      - denied
      - admitted
    required: true
  reason:
    description:
      - Why, for people. It is shown by C(federated.flower.status). Without one a denial that is there keeps its own.
    type: str
    default: ""
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
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
- name: Keep a site out
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: denied
    reason: its administrators look into a break-in

- name: Let it in again
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: admitted
"""

RETURN = r"""
msg:
  description: What the site is, in a sentence.
  returned: always
  type: str
site:
  description: The site.
  returned: success
  type: str
state:
  description: What it is.
  returned: success
  type: str
since:
  description: Since when it is denied (ISO 8601); empty when it is not.
  returned: success
  type: str
reason:
  description: Why it is denied.
  returned: success
  type: str
objects:
  description: The ConfigMap of the gateway, if it changed.
  returned: success
  type: list
  elements: dict
"""
