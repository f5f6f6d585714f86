# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Actions that work on all sites of a batch in one task."""

    DOCUMENTATION = r"""
options:
  sites:
    description:
      - Inventory names of the sites. All hosts of the batch by default.
      - >-
        The variables of the role C(federated.flower.supernode) are evaluated for each of these hosts exactly as a task of that host
        would see them. C(flower_auth), C(flower_kubeconfig) and C(flower_context) of each site, and of its hub, say how it is reached.
    type: list
    elements: str
notes:
  - Run it with C(run_once), then M(federated.flower.site_result) for every host.
  - A site that fails does not affect other sites, and does not fail the task.
"""
