#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: site_access
short_description: Deny or admit a site
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    The gateway refuses a denied site with its next request, also on open connections. Its SuperNodes continue to
    retry. Other sites are not affected. An admitted site reconnects with the same SuperNodes.
  - >-
    A denial is stored in the ledger and in the gateway's files. It survives reloads, restarts and runs of
    C(federated.flower.site), until the site is admitted. It also survives forgetting the site.
  - The gateway identifies sites by their client certificates, so it must request them.
  - This module is public. Changes of its options follow semantic versioning.
options:
  site:
    description:
      - Inventory name of the site.
    type: str
    required: true
  state:
    description:
      - Wanted state of the site.
    type: str
    choices:
      - denied
      - admitted
    required: true
  reason:
    description:
      - Reason, shown by C(federated.flower.status). Without it an existing denial keeps its reason.
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
- name: Deny a site
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: denied
    reason: its administrators look into a break-in

- name: Admit the site again
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: admitted
"""

RETURN = r"""
msg:
  description: Summary of the state.
  returned: always
  type: str
site:
  description: The site.
  returned: success
  type: str
state:
  description: State of the site.
  returned: success
  type: str
since:
  description: Time since which the site is denied (ISO 8601). Empty if it is not.
  returned: success
  type: str
reason:
  description: Reason of the denial.
  returned: success
  type: str
objects:
  description: The ConfigMap of the gateway, if it changed.
  returned: success
  type: list
  elements: dict
"""
