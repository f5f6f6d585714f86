# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_standby): copy a hub to its standby, and have the standby serve instead of it."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.failover import FailoverSteps
from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_action import DESCRIBED
from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_copy import StandbyCopy


class ActionModule(StandbyCopy, FailoverSteps):
    """See the module's documentation."""

    STATES = {
        "absent": StandbyCopy.leave,
        "checked": StandbyCopy.check_standby,
        "fenced": FailoverSteps.fence_hub,
        "followed": StandbyCopy.follow,
        "planned": FailoverSteps.plan_failover,
        "present": StandbyCopy.copy_once,
        "promoted": FailoverSteps.promote,
    }
    ARGS = {
        **DESCRIBED,
        "hub": {"type": "str", "required": True},
        "hub_described": {"type": "dict", "default": {}},
        "state": {"type": "str", "choices": [*STATES], "default": "present"},
        "seconds": {"type": "int", "default": 3600},
        "interval": {"type": "float", "default": 120.0},
        "delete_volumes": {"type": "bool", "default": False},
        "plan": {"type": "dict"},
        "confirmed": {"type": "bool", "default": False},
        "hub_lost": {"type": "bool", "default": False},
        "abandon_runs": {"type": "bool", "default": False},
    }
    SPEC = {"required_if": [("state", "fenced", ["plan"]), ("state", "promoted", ["plan"])]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do with the cluster of this host what C(state) says."""
        with self.connect() as cluster:
            return self.STATES[params["state"]](self, params, self.own(params, cluster))
