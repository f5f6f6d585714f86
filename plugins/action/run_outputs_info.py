# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_info): list the outputs of runs."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    outputs_table,
    run_table,
    runs,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str"},
        "run_ids": {"type": "list", "elements": "str", "default": []},
        "files": {"type": "bool", "default": False},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read, join, show."""
        wanted = runs.ids(params["run_ids"])
        warnings: list[str] = []
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            reader = Reader(cli)
            room, stored, inputs = reader.list(wanted, warnings)
            known = list(run_table.known_runs(cli).values())
            listed = outputs_table.entries(stored, known)
            if gone := run_table.missing(wanted, listed):
                raise FlowerError(
                    f"run {', '.join(gone)} has no outputs on {hub.name} (run_ids). federated.flower.outputs lists them"
                )
            if params["files"]:
                for one in listed:
                    contents = reader.contents(one["run_id"])
                    one |= {"sizes": contents.sizes, "why_left_out": contents.left_out}
        sent = outputs_table.input_entries(inputs, known)
        return {
            "changed": False,
            "warnings": warnings,
            "outputs": listed,
            "inputs": sent,
            "room": room.facts(),
            "table": outputs_table.table(listed),
            "inputs_table": outputs_table.inputs_table(sent),
            "msg": outputs_table.summary(listed, sent, room),
        }
