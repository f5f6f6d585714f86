#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: site_result
short_description: Report the result of a fleet-wide task to each host
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    A task that works on all sites of a batch at once (C(run_once)) returns in C(sites) the result of each of them. This module gives each host
    its own result: changed or failed, with message, diff, objects and warnings. So the recap, C(max_fail_percentage), C(rescue) and C(serial) work by host.
  - >-
    This module is a step of the roles and playbooks of this collection. Its options may change in any release.
options:
  registered:
    description:
      - Name of the variable in which that task registered its result. A host that is not in its C(sites) has nothing to do.
      - The module fails if that task was skipped, or failed without results.
      - Either O(registered) or O(results) is required.
    type: str
  results:
    description: Results of this host. Of several results the last one counts, with the changes of all. Without results, there is nothing to do.
    type: list
    elements: dict
extends_documentation_fragment:
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Report the site
  federated.flower.site_result:
    registered: deployed
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
objects:
  description: Result for each object.
  returned: when something was done to objects
  type: list
  elements: dict
"""
