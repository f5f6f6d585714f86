# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.remove): remove the hub from its cluster, but no volumes unless configured."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.sites import removing


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See C(sites/removing.py)."""
        seconds = params.pop("wait_timeout")
        wanted = removing.Removal(applyset=SUPERLINK, seconds=seconds, **params)
        with self.connect() as cluster:
            done = removing.remove(cluster, wanted, check=self.check)
        return {"changed": done.changed, "objects": done.objects, "warnings": done.warnings, "msg": done.msg}
