# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.remove): take what was deployed out of one cluster, but no volumes unless told."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.reach import removal


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "required": True},
        "applyset": {"type": "str", "required": True},
        "credentials": {"type": "bool", "default": False},
        "volumes": {"type": "bool", "default": False},
        "more_namespaces": {"type": "list", "elements": "str", "default": []},
        "skupper": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(removal)."""
        wanted = removal.Wanted(
            params["namespace"],
            params["applyset"],
            credentials=params["credentials"],
            volumes=params["volumes"],
            more_namespaces=tuple(params["more_namespaces"]),
            skupper=params["skupper"],
            seconds=params["wait_timeout"],
        )
        with self.connect() as cluster:
            done = removal.remove(cluster, wanted, check=self.check)
        return {"changed": done.changed, "objects": done.objects, "msg": done.msg}
