#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: logs_info
short_description: Read the logs of all clusters of a federation
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads the logs of SuperLink, gateway, ServerApp, SuperNodes, ClientApps and their sidecars at the API servers of the hub and of the sites,
    all clusters at the same time, and returns their lines in the order of time.
  - >-
    Nothing is read through the hub of Open Cluster Management, or of a site that gets bundles, unless the host has O(ignore:flower_context) or
    O(ignore:flower_auth) of its own. Such a site, and a cluster that does not answer, is named in RV(notes).
  - This module is public. Changes of its options follow semantic versioning.
options:
  hub:
    description: Read the logs of the hub of the inventory as well.
    type: bool
    default: true
  lines:
    description: Maximum number of lines of each container, the last ones, from V(1) to V(10000).
    type: int
    default: 20
  since:
    description: Return only lines that were written since then. A time in ISO 8601 (UTC unless it has an offset), or a duration before now as a number with
      C(s), C(m), C(h), C(d) or C(w).
    type: str
  grep:
    description: Return only lines in which this regular expression of Python is found. Of each container, the last 10000 lines are searched.
    type: str
  run_id:
    description: Return only lines that were written between the submission and the end of this run. An unknown id is an error.
    type: str
  previous:
    description: Read the logs of the containers before their last restart. Containers that have not restarted have none.
    type: bool
    default: false
  follow:
    description: Seconds for which new lines are shown after the others. They are not in RV(lines). Not in check mode.
    type: int
    default: 0
  show:
    description: Show the lines while the task runs, in addition to RV(lines).
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
notes:
  - Needs the rights to list C(pods) and to get C(pods/log) in the namespaces of the federation.
"""

EXAMPLES = r"""
---
- name: Find the errors of the last hour
  federated.flower.logs_info:
    since: 1h
    grep: ERROR|Traceback
  run_once: true
  register: logs
"""

RETURN = r"""
msg:
  description: Number of lines and clusters, and the time that it took to read them.
  returned: always
  type: str
  sample: 120 lines of 3 clusters in 0.6 s
lines:
  description: The lines, each with its time (UTC), its host, and its pod and container.
  returned: success
  type: list
  elements: str
  sample: ["2026-11-28T19:30:01.482Z site-a supernode-cpu-0/supernode: INFO :      Received successful response"]
notes:
  description: Clusters and containers whose logs were not read, and why.
  returned: success
  type: list
  elements: str
sites:
  description: For each cluster C(failed) and C(msg), where its logs could not be read.
  returned: success
  type: dict
"""
