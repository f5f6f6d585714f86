# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_info): list the outputs of runs."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import counted
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    bucket,
    outputs_table,
    run_table,
    runs,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

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
            storage = _add_places(reader, listed, warnings)
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
            "msg": "; ".join(filter(None, (outputs_table.summary(listed, sent, room), storage))),
        }


def _add_places(reader: Reader, listed: list[dict[str, Any]], warnings: list[str]) -> str:
    """Add where outputs are in object storage; which are not there, for people."""
    for one in listed:
        one["bucket"] = ""
    try:
        storage = bucket.Bucket.find(reader)
        uploaded = storage.uploaded() if storage else set()
    except ClusterError as error:
        warnings.append(f"cannot determine which outputs are in object storage: {error.message}")
        return ""
    if storage is None:
        return ""
    for one in listed:
        one["bucket"] = storage.of_run(one["run_id"]) if one["run_id"] in uploaded else ""
    waiting = bucket.waiting(listed, uploaded)
    return f"{counted(len(waiting), 'finished run')} not uploaded to {storage.place}" if waiting else ""
