#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_stop
short_description: Stop runs of a Flower app
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Stops the named runs of the SuperLink in the host's cluster. A run that is already finished is not changed.
  - If the SuperLink does not know one of the runs, the task fails and stops none of them.
  - A stopped run cannot be continued.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description: Ids of the runs.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.run
  - module: federated.flower.runs_info
"""

EXAMPLES = r"""
---
- name: Stop a run
  federated.flower.run_stop:
    run_ids: ["13164552291825540154"]
"""

RETURN = r"""
msg:
  description: What was done.
  returned: always
  type: str
  sample: stopped run 13164552291825540154; run 9915798441516665790 has already ended (completed)
stopped:
  description: Ids of the runs that were stopped, or would be stopped in check mode.
  returned: when the runs are known
  type: list
  elements: str
over:
  description: Status of each run that was already finished.
  returned: when the runs are known
  type: dict
  sample:
    "9915798441516665790": completed
"""
