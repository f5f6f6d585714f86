#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Run a Flower app on the federation
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Submits an app to the SuperLink in the host's cluster, waits until the run ends, and fails unless it completed.
  - >-
    Uses Flower's command line in the SuperLink pod, so the control node does not need Flower, and anyone who can
    C(exec) into that pod can submit apps. The app's code does not run in that pod.
  - >-
    The run does not depend on the control node. If the API server, the connection or the SuperLink is unavailable,
    the task retries until O(wait_timeout). If the response to a submission is lost, the task finds the run and does
    not submit it twice.
  - This module is public. Changes of its options follow semantic versioning.
options:
  app:
    description:
      - The app on the control node, a folder with a C(pyproject.toml), or a bundle created by C(flwr build) (C(.fab)). Relative paths
        are relative to the working directory.
      - Of a folder, only files that Flower packs into an app are sent (C(.py), C(.toml), C(.md), C(.yaml), C(.yml), C(.json), C(.jsonl), and
        C(LICENSE) and C(.gitignore) in the root folder), without C(.git), C(__pycache__), virtual environments and build folders.
      - Symbolic links inside the app are skipped with a warning, as Flower does. A link to a target outside the app is an error.
    type: path
  run_id:
    description:
      - Id of a run that was submitted before. The task follows this run and submits nothing.
    type: str
  run_config:
    description:
      - Values that override the app's C([tool.flwr.app.config]). Nested dictionaries are joined with dots.
      - A key that the app does not define is an error.
      - Types are kept, with one exception. If the app's own value is a number or a boolean, a string is converted to that type if possible,
        because variables from the command line, a survey or a template are strings.
    type: dict
    default: {}
  namespace:
    description:
      - Namespace of the SuperLink.
    type: str
    default: flower
  wait:
    description:
      - Wait until the run ends. If V(false), the task ends when the SuperLink has accepted the app, or with O(run_id) returns the status.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds to wait. After that the task fails, and the run continues.
    type: int
    default: 3600
  log_lines:
    description:
      - Maximum number of lines in RV(log) and in RV(output).
    type: int
    default: 50
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
    details:
      - The app and the run config are checked on the control node. The cluster is not contacted.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Every task submits a new run. With O(run_id) nothing is changed.
notes:
  - The run config is stored in the SuperLink's database and shown in results. Do not put secrets into it.
seealso:
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
run_id:
  description: Id of the run, as a string, because it needs 64 bits.
  returned: when there is a run
  type: str
  sample: "13164552291825540154"
status:
  description:
    - Status that Flower reports. One of V(pending), V(starting), V(running), V(finished:completed), V(finished:failed) and
      V(finished:stopped), or empty if it could not be determined.
  returned: when there is a run
  type: str
  sample: finished:completed
elapsed:
  description: Duration of the run in seconds, without the time it was pending.
  returned: when the run was read
  type: float
  sample: 38.2
output:
  description: The last lines of the log without Flower's own messages. It contains the output of the app, warnings and errors.
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
      description: First digits of the SHA-256 of the bundle that Flower built.
      type: str
      sample: 9bbee32d
run_config:
  description: The values that override the app's own, with the types that were sent.
  returned: when O(app) was given
  type: dict
  sample:
    num-server-rounds: 20
"""
