#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Run a Flower app on the federation
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Submits an app to the SuperLink in the host's cluster, waits until the run ends, and fails unless it completed.
  - >-
    Uses Flower's command line in the SuperLink pod, so the control node does not need Flower, and anyone who can
    C(exec) into that pod can submit apps. The app's code does not run in that pod.
  - >-
    The run does not depend on the control node. If the API server, the connection or the SuperLink is unavailable,
    the task retries until O(wait_timeout). If the response to a submission is lost, the task finds the run and does
    not submit it twice. If the playbook is interrupted, the run continues, and a task with O(run_id) follows it again.
  - >-
    While it waits, the task shows each new line of the run's log, and at a steady pace a line with the status of the run and the number
    of SuperNodes that are online. See O(quiet) and O(interval).
  - This module is public. Changes of its options follow semantic versioning.
options:
  app:
    description:
      - The app on the control node, a folder with a C(pyproject.toml), or an app packed by C(flwr build) (C(.fab)). Relative paths
        are relative to the working directory.
      - Of a folder, only files that Flower packs into an app are sent (C(.py), C(.toml), C(.md), C(.yaml), C(.yml), C(.json), C(.jsonl), and
        C(LICENSE) and C(.gitignore) in the root folder), without C(.git), C(__pycache__), virtual environments and build folders.
      - Symbolic links inside the app are skipped with a warning, as Flower does. A link to a target outside the app is an error.
    type: path
  run_id:
    description: Id of a run that was submitted before. The task follows this run and submits nothing. It shows the log from its start; of a long log, the
      last 1000 lines.
    type: str
  run_config:
    description:
      - Values that override the app's C([tool.flwr.app.config]). Nested dictionaries are joined with dots.
      - A key that the app does not define is an error.
      - Types are kept, with one exception. If the app's own value is a number or a boolean, a string is converted to that type, because
        variables from the command line, a survey or a template are strings. One that cannot be converted is an error. Booleans are V(true), V(yes),
        V(on), V(false), V(no) and V(off).
    type: dict
    default: {}
  datasets:
    description:
      - Names of datasets that every SuperNode that is online must have (C(supernode_datasets) of the role supernode). Otherwise nothing is
        submitted, and the error names sites and pools.
      - The hub reads this from its own records, which the deployment of a site writes. Sites are not contacted.
    type: list
    elements: str
    default: []
  packages_check:
    description:
      - Compare the C([project]) C(dependencies) in the app's C(pyproject.toml) with the Python packages of the images of the ServerApp and of all
        ClientApps whose SuperNodes are online. If a package is missing, or its version is out of range, nothing is submitted, and the error
        names site, pool and image of each.
      - One pod of each is queried by C(exec), at sites of the inventory that are reached directly. Pods that cannot be queried, such as those behind
        Open Cluster Management or without the right to C(exec), are shown in one line and do not prevent the run.
      - Images whose apps install their packages when they start (C(runtime_dependency_installation)) are not compared.
    type: bool
    default: true
  regions:
    description:
      - Regions (C(flower_region)) in which the run stays. Nothing is submitted while a SuperNode of another region, or of a site without one, is
        online, because an app can address every SuperNode that is. The run is stopped when one comes online, and the task fails if one was
        online during it.
      - The hub reads this from its own records, which the deployment of a site writes. They are read again before a run is stopped or fails
        because of this, so a site of these regions may join while the run is active.
      - Cannot be used with O(wait=false).
    type: list
    elements: str
    default: []
  regions_wait:
    description: Seconds in which SuperNodes of other regions may go offline before nothing is submitted, for sites that have just been denied.
    type: int
    default: 0
  resume:
    description:
      - Id of an earlier run that has outputs on the hub. The app gets it in its run config C(resume-run) and finds the outputs in
        C($FLOWER_OUTPUTS_DIR/ID).
      - Nothing is submitted if that run is not finished or has no outputs, or if the app does not declare C(resume-run) as a string.
    type: str
  inputs:
    description:
      - A file or folder on the control node, for example initial weights. It is sent to the volume for outputs before the run is submitted,
        in pieces, and verified there. What is on the hub already is not sent again.
      - C(s3://BUCKET/KEY) is an object, or all objects below a key, in the object storage of the federation (C(superlink_outputs_s3) of the role
        superlink). The hub copies it.
      - The app gets its path below C($FLOWER_OUTPUTS_DIR) in its run config C(inputs). The path has the SHA-256 of the content in it, and the
        files are read-only.
      - Nothing is submitted if the volume has too little free space, or if the app does not declare C(inputs) as a string.
      - Of links to files the content is sent. Links to folders are an error, and so are hidden files in a folder, because every app of the
        federation can read inputs.
    type: path
  wait:
    description: Wait until the run ends. If V(false), the task ends when the SuperLink has accepted the app, or with O(run_id) returns the status.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait. After that the task fails, and the run continues.
    type: int
    default: 3600
  log_lines:
    description: Maximum number of lines in RV(log) and in RV(output).
    type: int
    default: 50
  quiet:
    description: Show neither log nor status while the task waits, only the id of the run. C(no_log) has the same effect.
    type: bool
    default: false
  interval:
    description: Seconds between two lines with the status of the run. They are shown even if the SuperLink cannot be reached. A change of the status is shown
      at once.
    type: int
    default: 30
  outputs_directory:
    description:
      - Folder on the control node to which the outputs of the run are fetched when it has completed, see
        M(federated.flower.run_outputs_fetch). The run gets its own folder in it. Relative paths are relative to the working directory.
      - If they cannot be fetched the task fails, and RV(status) still says that the run has completed.
    type: path
  outputs_min_free:
    description: Minimum free space on the volume for outputs, as a quantity like V(2Gi). With less, nothing is submitted. Defaults to the value that the hub
      was deployed with (C(superlink_outputs_min_free) of the role superlink).
    type: str
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - The app and the run config are checked on the control node. The cluster is contacted only with O(resume) and O(inputs), to see
        whether the outputs are there and what would be sent, and with O(run_id), to see the state of the run and what would be fetched. A run is
        neither waited for nor stopped.
  idempotent:
    support: none
    details:
      - Every task submits a new run. With O(run_id) nothing is changed.
notes:
  - The run config is stored in the SuperLink's database and shown in results. Do not put secrets into it.
  - Lines are shown without colours and control characters. Of more than 1000 lines at once the last 1000 are shown, and a line states how
    many are left out. That an app waits for SuperNodes, which Flower logs each second, is shown once.
  - Flower's strategies continue without a SuperNode whose app raises an error or that does not answer, so a run can complete without a
    site. If the log of a run has such answers, a warning shows their number, the sites and the last reason of each.
  - If the free space on the volume for outputs is unknown, the run is submitted with a warning.
seealso:
  - module: federated.flower.run_outputs_fetch
  - module: federated.flower.runs_info
  - module: federated.flower.run_stop
  - name: Flower's command line
    description: What C(flwr run), C(flwr list), C(flwr log) and C(flwr stop) do.
    link: https://flower.ai/docs/framework/ref-api-cli.html
"""

EXAMPLES = r"""
---
- name: Train for at most two hours
  federated.flower.run:
    app: apps/mnist
    run_config:
      num-server-rounds: 20
      learning-rate: 0.01
    wait_timeout: 7200
  register: training

- name: Show the output of the app
  ansible.builtin.debug:
    msg: "{{ training.output }}"

- name: Resume from the last checkpoint of a failed run
  federated.flower.run:
    app: apps/mnist
    resume: "13164552291825540154"

- name: Start with weights that are too large for an app
  federated.flower.run:
    app: apps/mnist
    inputs: models/resnet50.safetensors

- name: Submit a run
  federated.flower.run:
    app: apps/mnist
    wait: false
  register: submitted

- name: Wait for it later, in another play or another job
  federated.flower.run:
    run_id: "{{ submitted.run_id }}"
    wait_timeout: 172800
"""

RETURN = r"""
msg:
  description: Result of the run. For a run that did not complete, also the reason, the end of the log, and how to stop it if it is still running.
  returned: always
  type: str
  sample: run 13164552291825540154 of federated-flower/quickstart completed in 38.2 s
datasets:
  description: Names of the sites that have each of O(datasets).
  returned: when an app was submitted
  type: dict
  sample:
    ct: [site-a, site-b]
packages:
  description: Images whose packages satisfy the app's dependencies. Images that could not be queried are not listed.
  returned: when an app was submitted
  type: list
  elements: str
  sample: ["ServerApp", "site-a, pool default"]
regions:
  description: O(regions).
  returned: when an app was submitted with O(regions)
  type: list
  elements: str
region_sites:
  description: Names of the sites in O(regions), also of those that are offline.
  returned: when an app was submitted with O(regions)
  type: list
  elements: str
succeeded:
  description:
    - Whether the task succeeded, and the run completed if the task waited for it. The opposite of C(failed), except in a task with C(failed_when).
    - V(false) for a run that completed but was not in O(regions) all the time, or whose outputs could not be fetched.
  returned: always, but where nothing was submitted because of an error
  type: bool
run_id:
  description: Id of the run, as a string, because it needs 64 bits.
  returned: when there is a run
  type: str
  sample: "13164552291825540154"
submission:
  description: V(unknown). The connection was lost while the app was submitted, and a run may have started.
  returned: when that is not known
  type: str
  sample: unknown
status:
  description: Status that Flower reports. One of V(pending), V(starting), V(running), V(finished:completed), V(finished:failed) and V(finished:stopped), or
    empty if it could not be determined.
  returned: when there is a run
  type: str
  sample: finished:completed
outcome:
  description: V(completed), V(failed) or V(stopped), or the status of a run that is not finished.
  returned: when the run was read
  type: str
  sample: completed
metrics:
  description:
    - The last metrics in the log. Flower does not store metrics; its strategies log them in each round.
    - Empty for an app that does not use these strategies. A number that is not finite is null.
  returned: when the run was read
  type: dict
  contains:
    round:
      description: Number of the round.
      type: int
      sample: 3
    train:
      description: Metrics of the training, aggregated over the SuperNodes.
      type: dict
      sample: {loss: 0.529}
    evaluate:
      description: Metrics of the evaluation, aggregated over the SuperNodes.
      type: dict
      sample: {accuracy: 0.691}
    server:
      description: Metrics of the evaluation in the ServerApp.
      type: dict
node_errors:
  description: Errors that SuperNodes answered with, with their sites, as far as the end of the log shows them. Empty if there are none.
  returned: when the run was read
  type: str
  sample: ""
elapsed:
  description: Duration of the run in seconds, without the time it was pending.
  returned: when the run was read
  type: float
  sample: 38.2
output:
  description: The last lines of the log without Flower's own messages. It contains the output of the app, warnings, errors, and what SuperNodes answered with
    errors.
  returned: when the run was read
  type: list
  elements: str
  sample:
    - "round 1: accuracy 0.501, loss 0.771 (3 nodes, 1800 examples; site-a 2, site-b 1)"
log:
  description: The last lines of the ServerApp's log, without colours.
  returned: when the run was read
  type: list
  elements: str
app:
  description: The app that was submitted, or would be submitted in check mode.
  returned: when O(app) was given
  type: dict
  contains:
    name:
      description: Publisher and name.
      type: str
      sample: federated-flower/quickstart
    version:
      description: Version.
      type: str
      sample: 1.0.0
    files:
      description: Number of files that were sent.
      type: int
      sample: 6
    size:
      description: Bytes of these files.
      type: int
      sample: 10763
    fab_hash:
      description: First digits of the SHA-256 of the app as Flower packed it.
      type: str
      sample: 9bbee32d
run_config:
  description: The values that override the app's own, with the types that were sent.
  returned: when O(app) was given
  type: dict
  sample:
    num-server-rounds: 20
outputs:
  description:
    - Where the outputs are. C(place) is their folder on the hub, as C(NAMESPACE/POD:FOLDER). With O(outputs_directory) it also has what
      RV(federated.flower.run_outputs_fetch#module:fetched) has, and C(error) if they were not fetched. C(bucket) is where they were uploaded.
    - Empty if the federation keeps no outputs.
  returned: when the run has completed
  type: dict
  sample:
    place: flower/serverapp-0:/outputs/13164552291825540154
resume:
  description: The earlier run that this one resumes from.
  returned: with O(resume)
  type: dict
  sample:
    run_id: "13164552291825540154"
    app: federated-flower/quickstart
    version: 1.0.0
    fab_hash: 9bbee32d
    status: failed
    files: 3
    size: 20480
inputs:
  description: What was sent, or would be sent in check mode. C(place) is the path below C($FLOWER_OUTPUTS_DIR), C(sent) the number of bytes.
  returned: with O(inputs)
  type: dict
  sample:
    path: /home/jane/models/resnet50.safetensors
    place: inputs/5c1e0c2c8d0d54b4ec8a1a5d2b3f1b7c9d1f6f1d0c7b7a1e6f0a9d8c7b6a5f4e/resnet50.safetensors
    sha256: 5c1e0c2c8d0d54b4ec8a1a5d2b3f1b7c9d1f6f1d0c7b7a1e6f0a9d8c7b6a5f4e
    files: 1
    size: 102502400
    sent: 102502400
room:
  description: Size, free space and minimum free space of the volume for outputs before the submission, in bytes.
  returned: when a run was submitted and the federation keeps outputs
  type: dict
  sample:
    size: 10737418240
    free: 8589934592
    min_free: 536870912
"""
