#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: site_access
short_description: Deny or admit sites
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
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
    description: Inventory name of the site. Either this or O(sites) is required, except for O(state=admitted) with O(holder).
    type: str
  sites:
    description: Inventory names of several sites, which are changed together. If one of them cannot be denied, none is changed.
    type: list
    elements: str
  state:
    description: Wanted state of the site.
    type: str
    choices:
      - denied
      - admitted
    required: true
  reason:
    description: Reason, shown by C(federated.flower.status). Without it an existing denial keeps its reason.
    type: str
    default: ""
  holder:
    description:
      - Name of what denies the sites temporarily, such as a run. It is unique for each.
      - With O(state=denied), sites that are denied already stay as they are. It is refused while another holder denies sites.
      - With O(state=admitted), sites are admitted that this holder denies, and no others. Without O(site) and O(sites) these are all of them.
      - A denial without a holder replaces one with a holder, so a site that someone denies in the meantime stays denied.
    type: str
    default: ""
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Deny a site
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: denied
    reason: its administrators investigate an incident

- name: Admit the site again
  federated.flower.site_access:
    hub: hub
    site: site-b
    state: admitted

- name: Deny two sites temporarily
  federated.flower.site_access:
    hub: hub
    sites: [site-b, site-c]
    state: denied
    reason: a run in eu only
    holder: run 1f0a

- name: Admit them, unless someone else has denied them since
  federated.flower.site_access:
    hub: hub
    state: admitted
    holder: run 1f0a
"""

RETURN = r"""
msg:
  description: Summary of the state.
  returned: always
  type: str
site:
  description: The site.
  returned: with O(site)
  type: str
sites:
  description: All requested sites, or those that the holder denied.
  returned: success
  type: list
  elements: str
state:
  description: The requested state.
  returned: success
  type: str
since:
  description: Time since which the site has been denied (ISO 8601). Empty if it is not denied.
  returned: with O(site)
  type: str
reason:
  description: Reason of the denial.
  returned: with O(site)
  type: str
objects:
  description: The ConfigMap of the gateway, if it changed.
  returned: success
  type: list
  elements: dict
"""
