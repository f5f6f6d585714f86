# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_fetch): fetch the outputs of runs to the control node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower import outputs_home, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import NoFiles, Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

    MUST_RECORD = False  # data scientists may not write the audit trail
    ARGS = {
        "namespace": {"type": "str"},
        "run_ids": {"type": "list", "elements": "str", "required": True},
        "directory": {"type": "path", "required": True},
    }

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
            known = outputs_home.known_runs(cli, wanted)
            outputs_home.refuse_active(wanted, known, "fetched")
            for run_id in wanted:
                try:
                    words.append(self._fetch(reader, cli, run_id, known.get(run_id, {}), directory, result))
                except NoFiles as error:  # one that failed at once; the others have theirs
                    faults.append(error.message)
        if faults:
            return result | {"failed": True, "msg": self.named(FlowerError("; ".join([*faults, *words])))}
        return result | {"msg": "; ".join(words)}

    def _fetch(self, reader: Reader, cli: FlowerCLI, run_id: str, known: Mapping[str, Any], directory: Path, result: dict[str, Any]) -> str:
        """Fetch the outputs of one run into the result; returns what was done, in words."""
        if self.check:
            would, foreseen = outputs_home.foresee(reader, run_id, directory)
            result["changed"] |= would
            return foreseen
        home = outputs_home.fetch(cli, reader, run_id, known, directory, self.say)
        if home.result["changed"]:
            self.note(outputs=[home.fact])
        result["changed"] |= home.result["changed"]
        result["fetched"].append(home.result)
        result["warnings"] += home.warnings
        return home.words
