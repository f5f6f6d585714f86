#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_outputs_info
short_description: List the outputs of runs and the inputs for runs
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Lists what the ServerApps of finished and active runs have written to the volume for outputs in the host's cluster, inputs that were sent
    to it (see O(federated.flower.run#module:inputs)), and its free space.
  - The outputs are read by a container that has the volume and nothing else. It executes nothing of them, and follows no links.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description: Ids of runs. Only their outputs are listed. A run without outputs is an error.
    type: list
    elements: str
    default: []
  files:
    description: Return the names and sizes of the files.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.run_outputs_fetch
  - module: federated.flower.run_outputs_upload
  - module: federated.flower.run_outputs_remove
  - module: federated.flower.runs_info
"""

EXAMPLES = r"""
---
- name: List the outputs
  federated.flower.run_outputs_info:
  register: found

- name: Show them
  ansible.builtin.debug:
    msg: "{{ found.table }}"
"""

RETURN = r"""
msg:
  description: Number and size of the outputs, and the free space.
  returned: success
  type: str
  sample: outputs of 3 runs, 1.2 GiB; 8.0 GiB of 10.0 GiB are free
table:
  description: The outputs as lines of text.
  returned: success
  type: list
  elements: str
inputs_table:
  description: The inputs as lines of text. Empty without inputs.
  returned: success
  type: list
  elements: str
inputs:
  description: Inputs that were sent for runs. Those that were used last come first.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: SHA-256 of the list of their files, which is the name of their folder below C($FLOWER_OUTPUTS_DIR/inputs).
      type: str
    whole:
      description: Whether all of them were sent. Otherwise the next run with the same inputs continues.
      type: bool
    files:
      description: Number of files.
      type: int
    size:
      description: Bytes of all files.
      type: int
    used_at:
      description: Time at which they were last passed to a run, or sent in part, UTC.
      type: str
    active:
      description: Whether a run that is not finished may use them. They are not deleted then.
      type: bool
room:
  description: Size, free space and minimum free space (C(superlink_outputs_min_free) of the role superlink) of the volume, in bytes.
  returned: success
  type: dict
  sample:
    size: 10737418240
    free: 8589934592
    min_free: 536870912
outputs:
  description: The outputs of each run. Those of active runs come first, then the newest.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Id of the run, as a string, because it needs 64 bits.
      type: str
      sample: "13164552291825540154"
    bucket:
      description: Where they are in object storage. Empty if they are not there completely, or the federation has none.
      type: str
      sample: s3://models/trial/13164552291825540154
    app:
      description: Publisher and name of the app. Empty if the SuperLink does not know the run.
      type: str
    version:
      description: Version of the app.
      type: str
    fab_hash:
      description: SHA-256 of the app's bundle.
      type: str
    status:
      description: Status of the run, see M(federated.flower.runs_info). V(unknown) if the SuperLink does not know it.
      type: str
    active:
      description: Whether the run is not finished.
      type: bool
    in_use:
      description: >-
        Whether an unfinished run may resume from them, or one that is not submitted yet, because they were passed to a run within the last hour.
        They are not deleted then.
      type: bool
    finished_at:
      description: Time at which the run finished, UTC. If it is unknown, the time at which the last file was changed.
      type: str
    files:
      description: Number of files.
      type: int
    size:
      description: Bytes of all files.
      type: int
    left_out:
      description: Number of entries that cannot be fetched, for example symbolic links.
      type: int
    sizes:
      description: Path of each file and its size in bytes.
      returned: with O(files=true)
      type: dict
    why_left_out:
      description: Path of each entry that cannot be fetched, and why.
      returned: with O(files=true)
      type: dict
"""
