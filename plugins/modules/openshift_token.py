#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: openshift_token
short_description: Revoke a token of OpenShift when the run ends
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    For the token that C(community.okd.openshift_auth) obtained and that O(api_key) or C(flower_auth) contains. It belongs to the playbooks
    federated.flower.openshift_login and federated.flower.openshift_logout.
  - >-
    No play can promise to be run: when all hosts of a play fail, a run ends. So with O(state=kept) a process of its own waits for the end of
    the run, and revokes the token then, whether the run succeeded, failed or was killed. It has the token in memory only.
  - >-
    This module is a step of the playbooks of this collection. Its options may change in any release.
options:
  state:
    description:
      - V(kept) revokes the token when the run ends, V(revoked) at once.
    type: str
    choices: [kept, revoked]
    default: kept
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details: A run in check mode logs in as well, so its token is revoked as well.
"""

EXAMPLES = r"""
---
- name: Have the token revoked at the end
  federated.flower.openshift_token:
    state: kept
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
"""
