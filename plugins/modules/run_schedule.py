#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_schedule
short_description: Start runs of a Flower app on a calendar
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Creates, changes or removes a CronJob in the SuperLink's namespace whose pods submit an app and follow the run. Without O(name), it lists the
    schedules.
  - The account of the pods may run commands in the SuperLink's pod, as data scientists may, and nothing else. The app is in a ConfigMap.
  - Options that are not set stay as they are in an existing schedule.
  - A run is submitted once at each time. A pod that is lost is not replaced, since it may have submitted a run.
  - This module is public. Changes of its options follow semantic versioning.
options:
  name:
    description: Name of the schedule, up to 36 lowercase letters, digits and C(-). Empty to list the schedules only.
    type: str
    default: ""
  state:
    description: V(absent) removes the schedule. A run that it started continues.
    type: str
    choices: [present, absent]
    default: present
  app:
    description: Folder of the app on the control node, or a bundle made by C(flwr build). Required for a new schedule. 900 KiB at most, compressed.
    type: path
  run_config:
    description: Values of the app's run config. Needs O(app).
    type: dict
  cron:
    description: Minute, hour, day of the month, month and day of the week, as a CronJob has them. Required for a new schedule.
    type: str
  timezone:
    description: Time zone of O(cron). Of a new schedule V(Etc/UTC).
    type: str
  suspend:
    description: Whether no runs are started until it is set to V(false). Of a new schedule V(false).
    type: bool
  overlap:
    description: V(skip) starts no run while one of the same app is active, from any source; V(allow) does. Of a new schedule V(skip).
    type: str
  min_supernodes:
    description: No run is started while fewer SuperNodes are online. Of a new schedule V(1).
    type: int
  timeout:
    description: Seconds for which a run is followed. A longer run continues, and counts as not completed. Of a new schedule V(86400).
    type: int
  ignore_maintenance:
    description: Accept times at which a site of the inventory is in maintenance (C(flower_maintenance)), which are refused by default.
    type: bool
    default: false
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
seealso:
  - module: federated.flower.run
  - module: federated.flower.runs_info
"""

EXAMPLES = r"""
---
- name: Train every Sunday at two
  federated.flower.run_schedule:
    name: weekly
    app: apps/quickstart
    run_config:
      num-server-rounds: 10
    cron: "0 2 * * sun"
    timezone: Europe/Berlin
    min_supernodes: 3

- name: Suspend it
  federated.flower.run_schedule:
    name: weekly
    suspend: true
"""

RETURN = r"""
schedules:
  description: All schedules of the hub.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: weekly
    app:
      description: Name and version of the app.
      type: str
      sample: example/quickstart 1.0.0
    cron:
      description: Its calendar.
      type: str
      sample: 0 2 * * sun
    timezone:
      description: Time zone of the calendar.
      type: str
      sample: Europe/Berlin
    suspended:
      description: Whether it starts no runs.
      type: bool
    next:
      description: Its next time. Empty if it is suspended.
      type: str
      sample: "2026-11-29T02:00:00+01:00"
    last:
      description:
        - Result of the last run, RV(ignore:at), RV(ignore:status), RV(ignore:run) and RV(ignore:why). Empty before the first.
        - RV(ignore:status) is V(completed), V(failed), V(stopped), V(skipped), V(refused) by Flower, V(running) or V(unknown).
      type: dict
lines:
  description: The schedules, a line each.
  returned: success
  type: list
  elements: str
  sample: ["schedule weekly: example/quickstart 1.0.0, 0 2 * * sun Europe/Berlin, next 2026-11-29 02:00; it has not run yet"]
objects:
  description: The objects of the schedule, and what was done with them.
  returned: with O(name)
  type: list
  elements: dict
msg:
  description: What was done.
  returned: always
  type: str
  sample: schedule weekly was set
"""
