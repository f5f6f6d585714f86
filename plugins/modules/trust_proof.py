#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: trust_proof
short_description: Deliver the CA bundle to sites and test which certificates their SuperNodes accept
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Puts the CA bundle into the ConfigMap of each site, if they differ, and asks every SuperNode which certificates of
    the gateway it takes: its sidecar makes a new connection with what it has loaded. A SuperNode without a sidecar cannot be asked, so the
    handshake is made beside it with its trust file, and the age of its process shows whether it has read that file.
  - >-
    A site that is down, or whose SuperNodes refuse, does not fail unless O(required) is true; C(trouble) has the reason.
  - >-
    This module is a step of the role C(federated.flower.cert_rotation). Its options may change in any release.
options:
  fleet:
    description:
      - RV(federated.flower.rotation#module:fleet); a site that it excuses is not asked.
    type: dict
    default: {}
  server_name:
    description:
      - Name under which the gateway serves sites.
    type: str
    required: true
  wanted:
    description:
      - C(now) and C(next) with the serials that should be shown; an empty serial for any.
    type: dict
    required: true
  bundle:
    description:
      - The CA bundle, PEM. Empty to leave it as it is. A trust that a site's variables give is not changed.
    type: str
    default: ""
  because:
    description:
      - RV(federated.flower.supernode_restart#module:sites). Faults of both are reported together.
    type: dict
    default: {}
  first:
    description:
      - Whether this is the first check of the sites; it fails when rights are missing that the rest of a rotation takes.
    type: bool
    default: false
  alone:
    description:
      - With O(first), whether a site fails alone, since the rotation needs nothing of the sites.
    type: bool
    default: false
  required:
    description:
      - Whether a site fails that is down, or whose SuperNodes refuse.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait until the SuperNodes accept what they should.
    type: int
    default: 120
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Have every SuperNode prove what it accepts
  federated.flower.trust_proof:
    fleet: "{{ look.fleet }}"
    server_name: "{{ look.server_name }}"
    wanted: "{{ look.wanted }}"
  run_once: true
  register: proof
"""

RETURN = r"""
msg:
  description: How many sites there were, and which of them failed.
  returned: always
  type: str
sites:
  description: >-
    For each site C(site), C(changed), C(msg), C(trust) (what it trusts now, PEM; none when it could not be asked), C(pods) (for each
    running SuperNode C(pod), C(pool), C(name), C(seen), which is C(now) and C(next) with C(serial) or C(error), C(stale) and C(error)),
    C(accepts) (serials that every expected SuperNode accepts), C(stale) (whether a SuperNode still runs with the trust of its start, so
    that only a restart helps) and C(trouble) (the fault; empty if there is none).
  returned: success
  type: dict
"""
