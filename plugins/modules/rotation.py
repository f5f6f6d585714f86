#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rotation
short_description: Rotate the certificates and secrets of the hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Reports what is due, issues a new certificate for the gateway and has the gateway serve it, rotates the CA step by
    step, and replaces shared secrets. The role C(federated.flower.cert_rotation) combines these steps with those of
    the sites.
  - >-
    The state of a rotation of the CA is stored in its Secret C(flower-ca) only. An interrupted rotation is completed
    by the next run.
  - Private keys are written to Secrets and to the gateway's memory. They do not appear in results, diffs or messages.
  - Works on all sites at once. Use it with C(run_once).
  - This module is a step of the role C(federated.flower.cert_rotation). Its options may change in any release.
options:
  step:
    description:
      - V(look) reports what is due and what would be done. It changes nothing.
      - V(leaf) replaces the certificate that the gateway serves.
      - >-
        V(ca) continues the rotation of the CA until it needs the sites. It fails if the rotation is blocked by a fault that
        does not resolve on its own.
      - V(gate) waits until every SuperNode is online and no run is active.
      - V(secrets) replaces the hub's shared secrets and internal certificates and restarts its pods, after V(gate).
      - V(settle) records that all sites have their new secrets.
    type: str
    required: true
    choices: [look, leaf, ca, gate, secrets, settle]
  source:
    description:
      - Where the gateway's certificate comes from. V(leaf) and V(ca) are rotated here for V(builtin) only.
    type: str
    default: builtin
    choices: [builtin, cert_manager, existing]
  rotate:
    description:
      - What to rotate, with O(step=look); one of the choices of the option C(cert_rotation_rotate) of the role cert_rotation.
        V(due) is everything that is due or was started before.
    type: str
    default: due
  sites:
    description:
      - Inventory names of the sites that this run reaches.
    type: list
    elements: str
    default: []
  reports:
    description:
      - Results of sites of M(federated.flower.supernode), trusted. For O(step=settle), those of restarted sites.
    type: list
    elements: dict
    default: []
  begin:
    description:
      - Whether to start a new rotation, for O(step=leaf) and O(step=ca). Otherwise only a started rotation is completed.
    type: bool
    default: false
  force:
    description:
      - Continue without sites that cannot be reached, and restart pods while runs are active.
    type: bool
    default: false
  grace:
    description:
      - Grace period in seconds for which sites continue to trust the previous CA.
    type: int
    default: 3600
  wait:
    description:
      - Seconds to wait for the end of active runs.
    type: int
    default: 3600
  wait_timeout:
    description:
      - Seconds to wait for pods.
    type: int
    default: 300
  ca_namespace:
    description:
      - Namespace of the CA keys.
    type: str
    default: flower-ca
  days:
    description:
      - Lifetime of the gateway's certificate in days.
    type: int
    default: 90
  ca_days:
    description:
      - Lifetime of a CA in days.
    type: int
    default: 3650
  renew_before:
    description:
      - Time before its expiry at which the gateway's certificate is due, such as C(30d) or C(12h). Empty for half of its lifetime.
    type: str
    default: ""
  ca_renew_before:
    description:
      - The same for the CA.
    type: str
    default: ""
  ca_certificate:
    description:
      - The CA's certificate, if the user provides the CA.
    type: str
    default: ""
  ca_key:
    description:
      - Its private key.
    type: str
    default: ""
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.hub
  - federated.flower.attributes
attributes:
  idempotent:
    support: partial
    details:
      - O(begin=true) starts a new rotation each time.
"""

EXAMPLES = r"""
---
- name: Find out what is due
  federated.flower.rotation:
    hub: hub
    step: look
    sites: "{{ groups.flower_sites }}"
  run_once: true
  register: look
"""

RETURN = r"""
msg:
  description: Summary of what was done or would be done.
  returned: always
  type: str
todo:
  description: With O(step=look), the kinds that are to be rotated.
  returned: success
  type: list
  elements: str
parts:
  description: With O(step=look), the parts of the role cert_rotation that are needed.
  returned: success
  type: list
  elements: str
renew:
  description: With O(step=look), what the sites replace although it is good, for the option O(federated.flower.supernode#module:renew).
  returned: success
  type: list
  elements: str
restarts:
  description: With O(step=look), whether SuperNodes of the sites are restarted, so that all must be online before.
  returned: success
  type: bool
reasons:
  description: With O(step=look), the reason for each kind.
  returned: success
  type: dict
issue:
  description: With O(step=look), whether a new certificate for the gateway will be issued.
  returned: success
  type: bool
plan:
  description: With O(step=look), the steps that would be done, as text.
  returned: success
  type: list
  elements: str
fleet:
  description: >-
    For each site C(expected) (keys of its SuperNodes), C(excused) (why it is exempt) and C(here) (whether this run
    includes it).
  returned: success
  type: dict
phase:
  description: State of the rotation of the CA, one of C(idle), C(adding), C(switched) or C(dropping).
  returned: success
  type: str
bundle:
  description: The CA bundle that sites must have, PEM.
  returned: success
  type: str
server_name:
  description: Name under which the gateway serves sites.
  returned: success
  type: str
wanted:
  description: Certificates that SuperNodes must accept, C(now) and C(next), each with the serial of a certificate.
  returned: success
  type: dict
done:
  description: With O(step=ca), the completed steps, as text.
  returned: success
  type: list
  elements: str
next:
  description: With O(step=ca), C(ask) if the sites must be tested next, C(wait) or C(done).
  returned: success
  type: str
waiting:
  description: With O(step=ca), what the rotation waits for.
  returned: success
  type: str
finished:
  description: With O(step=ca), whether the rotation of the CA is complete.
  returned: success
  type: bool
excused:
  description: With O(step=secrets), sites that need not get new secrets.
  returned: success
  type: list
  elements: str
mark:
  description: With O(step=secrets), the identifier of the new secrets.
  returned: success
  type: str
"""
