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
  - Submits an app to the SuperLink in the host's cluster, waits until the run is over, and fails unless it completed.
  - Flower's command line in the SuperLink pod does it, so the control node needs no Flower, and whoever may C(exec) into that pod may
    submit apps. No code of the app runs in that pod.
  - The run does not depend on the control node. While the API server, the connection or the SuperLink is away, the task keeps trying
    until O(wait_timeout). A submission whose answer was lost is asked for again without starting a second run.
options:
  app:
    description:
      - The app, a folder with a C(pyproject.toml), or a bundle that C(flwr build) made (C(.fab)). On the control node; a relative path
        begins in the working directory.
      - Of a folder those files are sent that Flower takes into an app (C(.py), C(.toml), C(.md), C(.yaml), C(.yml), C(.json), C(.jsonl), and
        C(LICENSE) and C(.gitignore) in the root folder), without C(.git), C(__pycache__), environments and build folders.
      - Links inside the app are left out, as Flower does, with a warning. A link that leads out of the app is an error.
    type: path
  run_id:
    description:
      - Number of a run that was submitted before. It is followed, nothing is submitted.
    type: str
  run_config:
    description:
      - Values that override the app's C([tool.flwr.app.config]). Nested dictionaries are joined with dots.
      - A name that the app does not have is an error.
      - Types stay as they are, with one exception. A text where the app's own value is a number or a boolean is read as one if it is one,
        because variables from the command line, a survey or a template are text.
    type: dict
    default: {}
  namespace:
    description:
      - Namespace of the SuperLink.
    type: str
    default: flower
  wait:
    description:
      - Wait until the run is over. Without it, the task ends when the SuperLink has taken the app, or with O(run_id) tells how the run is.
    type: bool
    default: true
  wait_timeout:
    description:
      - How long to wait, in seconds. When it is over the task fails, and the run goes on.
    type: int
    default: 3600
  log_lines:
    description:
      - How many lines to return at most in RV(log) and in RV(output).
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
      - The app and the run config are checked on the control node. The cluster is not asked.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Every task submits a run of its own. With O(run_id) nothing is changed.
notes:
  - The run config is kept in the SuperLink's database and shows in results. It is no place for secrets.
seealso:
  - name: Flower's command line
    description: What C(flwr run), C(flwr list), C(flwr log) and C(flwr stop) do.
    link: https://flower.ai/docs/framework/ref-api-cli.html
"""

EXAMPLES = r"""
---
- name: Train, for two hours at most
  federated.flower.run:
    app: apps/mnist
    run_config:
      num-server-rounds: 20
      learning-rate: 0.01
    wait_timeout: 7200
  register: training

- name: Show what the app printed
  ansible.builtin.debug:
    msg: "{{ training.output }}"

- name: Submit now
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
  description: How it went. For a run that did not complete also why, the end of the log, and how to stop it if it still goes on.
  returned: always
  type: str
  sample: run 13164552291825540154 of federated-flower/quickstart completed in 38.2 s
run_id:
  description: Number of the run, as a text, because it needs 64 bits.
  returned: when there is a run
  type: str
  sample: "13164552291825540154"
status:
  description:
    - What Flower says of the run. One of V(pending), V(starting), V(running), V(finished:completed), V(finished:failed) and
      V(finished:stopped), or empty if nothing could be seen of it.
  returned: when there is a run
  type: str
  sample: finished:completed
elapsed:
  description: Seconds that the run has been running, without the time it was pending.
  returned: when the run was looked at
  type: float
  sample: 38.2
output:
  description: The last lines of the log without Flower's own account, so what the app printed, and warnings and errors.
  returned: when the run was looked at
  type: list
  elements: str
  sample:
    - "round 1: accuracy 0.501, loss 0.771 (3 nodes, 1800 examples; site-a 2, site-b 1)"
log:
  description: The last lines of the ServerApp's log, without colours.
  returned: when the run was looked at
  type: list
  elements: str
app:
  description: What was submitted, or in check mode would be.
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
      description: First digits of the SHA-256 of the bundle that Flower made of them.
      type: str
      sample: 9bbee32d
run_config:
  description: The values that override the app's own, with the types that were sent.
  returned: when O(app) was given
  type: dict
  sample:
    num-server-rounds: 20
"""
