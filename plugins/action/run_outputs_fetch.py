# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_fetch): fetch the outputs of runs to the control node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower import outputs_fetch, run_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import NoFiles, Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

    MUST_RECORD = False  # data scientists may not write the audit trail

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """One run after the other, also after one that has no outputs; those that were fetched before one that fails stay."""
        wanted = runs.ids(params["run_ids"])
        if not wanted:
            raise FlowerError("run_ids is empty; it names the runs whose outputs are fetched")
        directory = Path(params["directory"]).absolute()
        result: dict[str, Any] = {"changed": False, "fetched": [], "warnings": []}
        words = []
        faults = []
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            reader = Reader(cli)
            known = run_table.known_runs(cli, wanted)
            run_table.refuse_active(wanted, known, "fetched")
            for run_id in wanted:
                try:
                    found = outputs_fetch.fetch_outputs(cli, reader, run_id, known.get(run_id, {}), directory, self.say, check=self.check)
                except NoFiles as error:  # one that failed at once; the others have theirs
                    faults.append(error.message)
                    continue
                if found.fact:
                    self.note(outputs=[found.fact])
                words.append(found.words)
                result["changed"] |= found.changed
                result["fetched"] += [found.result] if found.result else []
                result["warnings"] += found.warnings
        if faults:
            return result | {"failed": True, "msg": self.named(FlowerError("; ".join([*faults, *words])))}
        return result | {"msg": "; ".join(words)}
