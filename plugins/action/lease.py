# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.lease): take the lease of the fleet, or return it."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions import fleet_lease
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """A lease does not count as a change: a playbook that has nothing to change reports none."""
        taken, msg = False, "check mode needs no lease"
        if not self.check and params["state"] == "returned":
            msg = fleet_lease.give_back(self)
        elif not self.check:
            with fleet_lease.holding(self) as lease:
                taken = True
                msg = f"this run holds the lease of the federation {lease.federation}" if lease else "no hub is deployed yet, so no lease exists"
        return {"changed": False, "taken": taken, "msg": msg}
