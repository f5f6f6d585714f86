# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_standby): copy a hub to its standby, and have the standby serve instead of it."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.failover import FailoverAction


class ActionModule(FailoverAction):
    """See the module's documentation."""

    STATES = {
        "absent": FailoverAction.leave,
        "checked": FailoverAction.check_standby,
        "fenced": FailoverAction.fence_hub,
        "followed": FailoverAction.follow,
        "planned": FailoverAction.plan_failover,
        "present": FailoverAction.copy_once,
        "promoted": FailoverAction.promote,
    }
    SPEC = {"required_if": [("state", "fenced", ["plan"]), ("state", "promoted", ["plan"])]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do with the cluster of this host what C(state) says."""
        with self.connect() as cluster:
            return self.STATES[params["state"]](self, params, self.own(params, cluster))
