#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: runs_info
short_description: List the runs of a SuperLink
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Reads the runs of the SuperLink in the host's cluster and, with O(logs), their logs.
  - >-
    Uses Flower's command line in the SuperLink pod, so the control node does not need Flower.
  - This module is public. Changes of its options follow semantic versioning.
options:
  run_ids:
    description: Ids of runs. Only these are returned, and O(status), O(app), O(since) and O(limit) are ignored. An unknown id is an error.
    type: list
    elements: str
    default: []
  status:
    description: Return only runs with one of these statuses. V(active) are V(pending), V(starting) and V(running); V(finished) are V(completed), V(failed)
      and V(stopped).
    type: list
    elements: str
    choices: [pending, starting, running, completed, failed, stopped, active, finished]
    default: []
  app:
    description: Return only runs of this app, as C(publisher/name) or C(name). V(*) and V(?) are placeholders.
    type: str
  since:
    description: Return only runs that were submitted since then. A time in ISO 8601 (UTC unless it has an offset), or a duration before now as a number with
      C(s), C(m), C(h), C(d) or C(w).
    type: str
  limit:
    description: Maximum number of runs, the newest ones. V(0) returns all.
    type: int
    default: 0
  logs:
    description: Return the log of each run. Reading it takes about a second for each run.
    type: bool
    default: false
  log_lines:
    description: Maximum number of lines in RV(runs[].log).
    type: int
    default: 50
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
seealso:
  - module: federated.flower.run
  - module: federated.flower.run_stop
"""

EXAMPLES = r"""
---
- name: List the runs of the last two days that did not complete
  federated.flower.runs_info:
    status: [failed, stopped]
    since: 2d
  register: found

- name: Show them
  ansible.builtin.debug:
    msg: "{{ found.table }}"
"""

RETURN = r"""
msg:
  description: Number of runs.
  returned: success
  type: str
  sample: 3 of 12 runs, 2 active, 1 of them pending
table:
  description: The runs as lines of text.
  returned: success
  type: list
  elements: str
details:
  description: The runs as lines of text, one value in a line, and with O(logs) the ends of their logs.
  returned: success
  type: list
  elements: str
runs:
  description: The runs, the newest first.
  returned: success
  type: list
  elements: dict
  contains:
    run_id:
      description: Id, as a string, because it needs 64 bits.
      type: str
      sample: "13164552291825540154"
    app:
      description: Publisher and name of the app.
      type: str
      sample: federated-flower/quickstart
    version:
      description: Version of the app.
      type: str
      sample: 1.0.0
    fab_hash:
      description: SHA-256 of the app's bundle.
      type: str
    status:
      description: V(pending), V(starting), V(running), V(completed), V(failed) or V(stopped).
      type: str
      sample: completed
    active:
      description: Whether it is not finished.
      type: bool
    details:
      description: Flower's details of the status. Empty if there are none.
      type: str
    elapsed:
      description: Duration in seconds, without the time it was pending.
      type: float
      sample: 38.2
    pending_at:
      description: Time of the submission, UTC.
      type: str
      sample: "2026-11-22 14:33:44Z"
    starting_at:
      description: Time at which a ServerApp process was assigned. Empty if there was none.
      type: str
    running_at:
      description: Time at which the ServerApp started. Empty if it did not.
      type: str
    finished_at:
      description: Time of the end. Empty for an active run.
      type: str
    behind:
      description: For a pending run, ids of the active runs that were submitted before, the oldest first.
      type: list
      elements: str
    log:
      description: The last lines of the ServerApp's log, without colours.
      returned: with O(logs=true)
      type: list
      elements: str
    metrics:
      description: The last metrics in the log, see M(federated.flower.run).
      returned: with O(logs=true)
      type: dict
"""
