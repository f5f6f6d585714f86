#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_outputs_remove
short_description: Delete outputs of runs and inputs for runs
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Deletes outputs of runs, and inputs that were sent for runs, from the volume in the host's cluster, selected by name
    or by rules.
  - Outputs of runs that are not finished are never deleted. Naming such a run is an error.
  - The same applies to inputs, and to outputs of earlier runs, that were passed to a run since the oldest unfinished run was
    submitted. Outputs that were passed to a run within the last hour stay as well, because that run may not be submitted yet.
  - With O(keep) and O(older_than), outputs are kept if one of the two keeps them.
  - What was deleted cannot be restored.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description: Ids of the runs.
    type: list
    elements: str
  inputs:
    description: Names of inputs, as M(federated.flower.run_outputs_info) returns them.
    type: list
    elements: str
  keep:
    description: Number of finished runs whose outputs are kept, the newest ones. The same number of inputs is kept, those that were used last, and all that
      were used within the last hour.
    type: int
  older_than:
    description: Delete only outputs of runs that finished longer ago than this, and inputs that were used longer ago. A number with C(s), C(m), C(h), C(d) or
      C(w).
    type: str
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Reports what would be deleted.
seealso:
  - module: federated.flower.run_outputs_fetch
  - module: federated.flower.run_outputs_info
"""

EXAMPLES = r"""
---
- name: Keep the outputs of the last 20 runs, and all that are not older than 30 days
  federated.flower.run_outputs_remove:
    keep: 20
    older_than: 30d
"""

RETURN = r"""
msg:
  description: What was deleted, and the free space.
  returned: always
  type: str
  sample: "deleted the outputs of 1 runs, 1.2 GiB: 13164552291825540154; 8.0 GiB of 10.0 GiB are free"
deleted:
  description: Ids of the runs whose outputs were deleted, or would be deleted in check mode, the oldest first.
  returned: when the outputs could be read
  type: list
  elements: str
deleted_inputs:
  description: Names of the inputs that were deleted, or would be deleted in check mode.
  returned: when the outputs could be read
  type: list
  elements: str
absent:
  description: Ids of O(run_ids) that have no outputs, and names of O(inputs) that do not exist.
  returned: when the outputs could be read
  type: list
  elements: str
kept:
  description: Ids of the runs that were considered and whose outputs stay.
  returned: when the outputs could be read
  type: list
  elements: str
kept_inputs:
  description: Names of the inputs that stay.
  returned: when the outputs could be read
  type: list
  elements: str
size:
  description: Bytes that were deleted.
  returned: when the outputs could be read
  type: int
room:
  description: Size, free space and minimum free space (C(superlink_outputs_min_free) of the role superlink) of the volume, in bytes.
  returned: success
  type: dict
  sample:
    size: 10737418240
    free: 8589934592
    min_free: 536870912
"""
