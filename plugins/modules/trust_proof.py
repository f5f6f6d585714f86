#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: trust_proof
short_description: Bring a site its trust and have its SuperNodes prove which certificates they accept
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Puts the CAs that sites have to trust into the ConfigMap of the site, if they differ, and asks every SuperNode which
    certificates of the gateway it takes: its sidecar makes a new connection with what it has loaded. A SuperNode without
    a sidecar cannot be asked, so the handshake is made beside it with its trust file, and the age of its process tells
    whether it has taken that file in.
  - A site that is down, or whose SuperNodes refuse, does not fail this task; RV(trouble) says so.
options:
  namespace:
    description:
      - Namespace of the site's SuperNodes.
    type: str
    default: flower
  site:
    description:
      - The site's entry in C(fleet) of M(federated.flower.rotation).
    type: dict
    default: {}
  server_name:
    description:
      - Name under which the gateway serves sites.
    type: str
    required: true
  wanted:
    description:
      - C(now) and C(next) with the serials that should be shown; an empty serial for whatever there is.
    type: dict
    required: true
  bundle:
    description:
      - What the site has to trust, PEM. Empty to leave it as it is.
    type: str
    default: ""
  own_bundle:
    description:
      - Whether the site's trust is given by its inventory, and so is not to be changed.
    type: bool
    default: false
  because:
    description:
      - What went wrong before, for RV(trouble).
    type: str
    default: ""
  first:
    description:
      - >-
        Whether this is the first look at the site; it fails when rights are missing that the rest of a rotation takes.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait until the SuperNodes accept what they should.
    type: int
    default: 120
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
- name: Have every SuperNode prove what it accepts
  federated.flower.trust_proof:
    site: "{{ look.fleet[inventory_hostname] }}"
    server_name: "{{ look.server_name }}"
    wanted: "{{ look.wanted }}"
  register: proof
"""

RETURN = r"""
msg:
  description: What was found, in a sentence.
  returned: always
  type: str
site:
  description: Inventory name of the site.
  returned: success
  type: str
trust:
  description: What the site trusts now, PEM; none when it could not be asked.
  returned: success
  type: str
pods:
  description: >-
    For each running SuperNode C(pod), C(pool), C(name), C(seen) (C(now) and C(next) with C(serial) or C(error)),
    C(stale) and C(error).
  returned: success
  type: list
  elements: dict
accepts:
  description: Serials that every expected SuperNode accepts.
  returned: success
  type: list
  elements: str
stale:
  description: Whether a SuperNode still runs with the trust of its start, so that only a restart helps.
  returned: success
  type: bool
trouble:
  description: What is wrong; empty when all is well.
  returned: success
  type: str
"""
