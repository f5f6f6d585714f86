#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ocm_addon
short_description: Apply the add-on of an Open Cluster Management hub
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Applies the objects of the add-on that are not specific to a cluster to the hub, or deletes them. AddOnTemplates and
    AddOnDeploymentConfigs are never changed and never deleted.
  - >-
    If the add-on exists and gets its clusters from another Placement than before, the Placement is applied first. The
    add-on refers to it when it has selected every cluster that has a site. If it does not select them within a minute,
    the task fails, and the add-on stays as it is.
  - >-
    If an add-on of this name belongs to someone else, or to a federation of this name in another namespace, nothing is
    changed.
  - This module is a step of the role C(federated.flower.ocm_addon). Its options may change in any release.
options:
  spec:
    description:
      - The specification, as assembled by the role C(federated.flower.ocm_addon).
    type: dict
    required: true
  state:
    description:
      - Whether the objects exist. V(absent) waits until they are deleted.
    type: str
    choices: [present, absent]
    default: present
  claim:
    description:
      - Whether to take over the add-on of a federation of this name in another namespace.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for the removal.
    type: int
    default: 300
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Apply the add-on
  federated.flower.ocm_addon:
    spec: "{{ spec }}"
"""

RETURN = r"""
msg:
  description: Number of objects that were created, changed, deleted and unchanged.
  returned: always
  type: str
objects:
  description: Result for each object, as of M(federated.flower.apply).
  returned: success
  type: list
  elements: dict
"""
