# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_stop): stop some runs."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # Flower lists the runs

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Stop those that are active, and report the others; nothing is stopped while one of them is not known."""
        ids = runs.ids(params["run_ids"])
        if not ids:
            raise FlowerError("run_ids is empty; it names the runs to stop")
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            listed = run_table.entries(runs.read_some(cli, ids))
            if gone := run_table.missing(ids, listed):
                raise FlowerError(
                    f"the SuperLink on {hub.name} has no run {', '.join(gone)} (run_ids); no run was stopped"
                )
            before = {run["run_id"]: run for run in listed}
            active = [one for one in ids if before[one]["active"]]
            over = {one: before[one]["status"] for one in ids if one not in active}
            refused: dict[str, str] = {}
            if not self.check:
                more, refused = runs.stop(cli, active)
                over |= more
        stopped = [one for one in active if one not in over and one not in refused]
        words = [f"{'would stop' if self.check else 'stopped'} run {', '.join(stopped)}"] if stopped else []
        words += [f"run {one} has already ended ({status})" for one, status in over.items()]
        words += [f"run {one} cannot be stopped: {why}" for one, why in refused.items()]
        message = "; ".join(words)
        return {
            "changed": bool(stopped),
            "failed": bool(refused),
            "stopped": stopped,
            "over": over,
            "msg": self.named(FlowerError(message)) if refused else message,
        }
