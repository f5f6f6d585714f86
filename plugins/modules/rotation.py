#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rotation
short_description: Rotate the certificates, keys and secrets of a federation
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Replaces what is due or requested on the hub and at all sites of the play, and has every SuperNode prove that it accepts what the gateway serves. The
    variables of the role C(federated.flower.cert_rotation) set what is rotated and how long the task waits.
  - >-
    The state is in the clusters only, that of a rotation of the CA in its Secret C(flower-ca). The next run completes an interrupted rotation.
  - >-
    It shows what will be done before it begins, and the handshakes of the SuperNodes at the end. In check mode it shows what would be done.
  - Private keys are written to Secrets and to the gateway's memory. They do not appear in results, diffs or messages.
  - This module is a step of the role C(federated.flower.cert_rotation). Its options may change in any release.
options:
  state:
    description:
      - V(rotated) replaces what is due or requested.
      - V(due) reads from the hub what is due, for all sites of the inventory, and changes nothing.
    type: str
    choices: [due, rotated]
    default: rotated
extends_documentation_fragment:
  - federated.flower.attributes
attributes:
  idempotent:
    support: partial
    details:
      - What the variable C(cert_rotation_rotate) requests is replaced each time.
notes:
  - Run it with C(run_once), then M(federated.flower.site_result) for every host.
"""

EXAMPLES = r"""
---
- name: Rotate certificates, keys and secrets that are due
  federated.flower.rotation:
  run_once: true
  register: rotation

- name: Report the site
  federated.flower.site_result:
    results: ["{{ rotation.sites[inventory_hostname] }}"]
  when: inventory_hostname in rotation.sites | default({})
"""

RETURN = r"""
msg:
  description: What was done on the hub, or would be done.
  returned: always
  type: str
todo:
  description: The kinds that are to be rotated.
  returned: success
  type: list
  elements: str
reasons:
  description: The reason for each of them.
  returned: success
  type: dict
plan:
  description: What the rotation does, in sentences.
  returned: success
  type: list
  elements: str
handshakes:
  description: >-
    A table with the certificate that each SuperNode was shown before and after, and whether it accepted it. Empty unless the gateway's certificate or the CA
    was replaced.
  returned: when something was rotated
  type: list
  elements: str
sites:
  description: >-
    For each site C(changed), C(failed) and C(msg), and, if there are any, C(objects) (the result for each), C(diff), C(warnings) and C(requests).
  returned: when something was rotated, also if it failed
  type: dict
"""
