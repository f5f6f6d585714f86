#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_outputs_upload
short_description: Upload the outputs of runs to object storage
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Has the hub upload the outputs of finished runs to the S3-compatible object storage of the federation, C(superlink_outputs_s3) of the role
    superlink. The control node gets none of the data.
  - A run has the keys C(PREFIX/RUN_ID/FILE). The object C(PREFIX/RUN_ID/flower-outputs.json) has the run, the app's hash, the sites, and the size
    and SHA-256 of each file. It is written last, so a run that has it is complete.
  - Nothing in the bucket is overwritten or deleted, and the outputs stay on the hub. An upload that fails is continued by the next task.
  - Symbolic links, devices and files with names that are not valid on every file system are skipped with a warning.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description:
      - Ids of the runs. Runs that are not finished are an error. What is in the bucket already is compared with the outputs by SHA-256.
      - If empty, the outputs of all finished runs that are not in the bucket are uploaded.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.run
  - module: federated.flower.run_outputs_fetch
  - module: federated.flower.run_outputs_info
"""

EXAMPLES = r"""
---
- name: Upload the outputs of all finished runs
  federated.flower.run_outputs_upload:
"""

RETURN = r"""
msg:
  description: What was uploaded.
  returned: always
  type: str
  sample: "outputs of run 13164552291825540154: 3 files, 1.2 GiB, uploaded: s3://models/trial/13164552291825540154"
uploaded:
  description: The outputs of each run.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Id of the run.
      type: str
    place:
      description: Where they are in object storage.
      type: str
    changed:
      description: Whether they were uploaded now. If not, they were there and are the same.
      type: bool
    files:
      description: Number of files.
      type: int
    size:
      description: Bytes of all files.
      type: int
    sha256:
      description: SHA-256 of the list of files in C(flower-outputs.json), as JSON with sorted keys and without whitespace.
      type: str
    left_out:
      description: Path of each entry that was not uploaded, and why.
      type: dict
"""
