# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.runs_info): list the runs of a SuperLink, and read their logs."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_log, run_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.programs.run_metrics import last_metrics


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read, choose, show."""
        choose = run_table.chooser(params, datetime.datetime.now(datetime.timezone.utc))
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            listed = run_table.entries(self._read(cli, params["run_ids"]))
            if gone := run_table.missing(params["run_ids"], listed):
                raise FlowerError(
                    f"the SuperLink on {hub.name} has no run {', '.join(gone)} (run_ids). federated.flower.runs lists its runs"
                )
            shown = choose(listed)
            if params["logs"]:
                for run in shown:
                    log = run_log.read_log(cli, runs.Run(run["run_id"], run["status"] if run["active"] else f"finished:{run['status']}"))
                    kept = max(params["log_lines"], 0)
                    run |= {"log": log[-kept:] if kept else [], "metrics": last_metrics(log)}
        return {
            "changed": False,
            "runs": shown,
            "table": run_table.table(shown),
            "details": run_table.details(shown),
            "msg": run_table.summary(shown, shown if params["run_ids"] else listed),
        }

    @staticmethod
    def _read(cli: FlowerCLI, run_ids: Sequence[str]) -> list[dict[str, Any]]:
        """All runs; only those that are named if they need no others, which one that waits does."""
        named = runs.read_some(cli, run_ids)
        if run_ids and not any(run.get("status") == "pending" for run in named):
            return named
        return runs.read_all(cli)
