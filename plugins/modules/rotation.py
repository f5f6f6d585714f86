#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rotation
short_description: Do the hub's part of a rotation of certificates and secrets
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Says what is due; issues a new certificate for the gateway and has it served at once; takes the CA through its
    change, step by step; makes shared secrets anew. The role C(federated.flower.cert_rotation) brings these parts and
    those of the sites together.
  - >-
    What a change of the CA has come to is what its Secret C(flower-ca) holds, and nothing else. A run that breaks off
    at any point is completed by the next.
  - Private keys go into Secrets and into the gateway's memory. They are in no result, diff or message.
  - Works for all sites at once; run it with C(run_once).
options:
  step:
    description:
      - V(look) says what is due and what would be done, and changes nothing.
      - V(leaf) has the gateway serve a new certificate.
      - >-
        V(ca) takes the change of the CA as far as it goes without the sites; it ends with a failure when something holds
        it that does not pass by itself.
      - V(gate) waits until every SuperNode is online and no run is active.
      - V(secrets) makes the hub's shared secrets and internal certificates anew and restarts its pods, after V(gate).
      - V(settle) notes that all sites have their new secrets.
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
      - What to look for with O(step=look). V(due) is whatever is due or was begun.
    type: str
    default: due
    choices: [due, leaf, ca, client, supernode_keys, superexec]
  sites:
    description:
      - Inventory names of the sites that this run reaches.
    type: list
    elements: str
    default: []
  reports:
    description:
      - Results of M(federated.flower.trust_proof), for O(step=settle) those of M(federated.flower.supernode_restart).
    type: list
    elements: dict
    default: []
  begin:
    description:
      - Whether to begin something new, for O(step=leaf) and O(step=ca); otherwise only what is open is completed.
    type: bool
    default: false
  force:
    description:
      - Go on without sites that cannot be asked, and restart pods although runs are active.
    type: bool
    default: false
  grace:
    description:
      - Seconds for which sites go on trusting the previous CA.
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
      - How long before its end the gateway's certificate is due, such as C(30d) or C(12h). Empty for half of its lifetime.
    type: str
    default: ""
  ca_renew_before:
    description:
      - The same for the CA.
    type: str
    default: ""
  ca_certificate:
    description:
      - The CA's certificate, where it is handed in and not made by the collection.
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
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - O(begin=true) begins anew each time.
"""

EXAMPLES = r"""
---
- name: See what is due
  federated.flower.rotation:
    hub: hub
    step: look
    sites: "{{ groups.flower_sites }}"
  run_once: true
  register: look
"""

RETURN = r"""
msg:
  description: What was done, or would be, in a sentence.
  returned: always
  type: str
todo:
  description: With O(step=look), the kinds that are to be rotated.
  returned: success
  type: list
  elements: str
reasons:
  description: With O(step=look), kind to the reason why.
  returned: success
  type: dict
issue:
  description: With O(step=look), whether a new certificate is to be issued for the gateway.
  returned: success
  type: bool
plan:
  description: With O(step=look), what would be done, sentences.
  returned: success
  type: list
  elements: str
fleet:
  description: >-
    Site to C(expected) (keys of its SuperNodes), C(excused) (why it need not be asked) and C(here) (whether this run
    reaches it).
  returned: success
  type: dict
phase:
  description: C(idle), or what a change of the CA has come to, C(adding), C(switched) or C(dropping).
  returned: success
  type: str
bundle:
  description: What sites have to trust, PEM.
  returned: success
  type: str
server_name:
  description: Name under which the gateway serves sites.
  returned: success
  type: str
wanted:
  description: What SuperNodes are to accept; C(now) and C(next) with the serial of a certificate.
  returned: success
  type: dict
done:
  description: With O(step=ca), the steps that were done, in words.
  returned: success
  type: list
  elements: str
next:
  description: With O(step=ca), C(ask) when the sites are to be heard, C(wait) or C(done).
  returned: success
  type: str
waiting:
  description: With O(step=ca), what it waits for.
  returned: success
  type: str
finished:
  description: With O(step=ca), whether no change of the CA is open.
  returned: success
  type: bool
excused:
  description: With O(step=secrets), sites that need not get new secrets.
  returned: success
  type: list
  elements: str
mark:
  description: With O(step=secrets), what marks the new secrets.
  returned: success
  type: str
"""
