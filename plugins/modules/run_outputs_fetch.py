#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_outputs_fetch
short_description: Fetch the outputs of runs
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Copies the outputs of finished runs from the volume in the host's cluster to the control node.
  - Each run gets the folder C(DIRECTORY/RUN_ID). It appears when all files were received, compared with the SHA-256 that was computed on
    the hub, and written to the disk. Until then everything is in C(DIRECTORY/.RUN_ID.part).
  - After a lost connection the task continues where it stopped. After an interruption the next task does so. A file whose
    SHA-256 does not match is received again. Files are streamed, so the memory that is needed does not depend on their size.
  - Nothing is overwritten. If the folder of a run exists, it is compared with the outputs, and a difference is an error.
  - The file C(flower-outputs.json) in the folder has the run, the app's hash, the sites, and the size and SHA-256 of each file.
  - Symbolic links, devices and files with names that are not valid on every file system are skipped with a warning.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description: Ids of the runs. Runs that are not finished are an error.
    type: list
    elements: str
    required: true
  directory:
    description: Folder on the control node. It is created if it does not exist. Relative paths are relative to the working directory.
    type: path
    required: true
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.run
  - module: federated.flower.run_outputs_info
  - module: federated.flower.run_outputs_upload
  - module: federated.flower.run_outputs_remove
"""

EXAMPLES = r"""
---
- name: Fetch a model
  federated.flower.run_outputs_fetch:
    run_ids: ["13164552291825540154"]
    directory: outputs
"""

RETURN = r"""
msg:
  description: What was fetched.
  returned: always
  type: str
  sample: "outputs of run 13164552291825540154: 3 files, 1.2 GiB, fetched: /home/jane/outputs/13164552291825540154"
fetched:
  description: The outputs of each run.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Id of the run.
      type: str
    path:
      description: The folder on the control node.
      type: str
    changed:
      description: Whether they were fetched now. If not, they were there and are the same.
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
    sites:
      description: Sites with SuperNodes that were online during the run, as far as the identity can read them.
      type: list
      elements: str
    left_out:
      description: Path of each entry that was not fetched, and why.
      type: dict
    connections:
      description: Number of connections over which files were received.
      type: int
"""
