# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_upload): have the hub upload the outputs of runs to object storage."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    bucket,
    bucket_upload,
    outputs_table,
    run_table,
    runs,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

    MUST_RECORD = False  # data scientists may not write the audit trail

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """One run after the other, also after one that fails; those that are there completely are not looked at unless they are named."""
        named = runs.ids(params["run_ids"])
        result: dict[str, Any] = {"changed": False, "uploaded": [], "warnings": []}
        words, faults = [], []
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            reader = Reader(cli)
            storage = bucket.Bucket.find(reader)
            if storage is None:
                raise FlowerError(
                    f"the federation in namespace {cli.namespace} of {hub.name} has no object storage for outputs: set superlink_outputs_s3 and run "
                    "federated.flower.site"
                )
            _room, stored, _inputs = reader.list(named)
            # After the outputs: a run that began meanwhile is among those that Flower knows, and so is active.
            known = run_table.known_runs(cli, named or None)
            run_table.refuse_active(named, known, "uploaded")
            wanted = named or bucket.waiting(outputs_table.entries(stored, [*known.values()]), storage.uploaded())
            for run_id in wanted:
                try:
                    found = bucket_upload.upload(cli, storage, run_id, known.get(run_id, {}), self.say, check=self.check)
                except ClusterError as error:
                    faults.append(f"outputs of run {run_id} were not uploaded: {error.message}")
                    continue
                if found.fact:
                    self.note(outputs=[found.fact])
                words.append(found.words)
                result["changed"] |= found.changed
                result["uploaded"] += [found.result] if found.result else []
                result["warnings"] += found.warnings
        if faults:
            return result | {"failed": True, "msg": self.named(FlowerError("; ".join([*faults, *words])))}
        return result | {"msg": "; ".join(words) or f"the outputs of all finished runs are in {storage.place}"}
