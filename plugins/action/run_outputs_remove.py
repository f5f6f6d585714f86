# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run_outputs_remove): delete outputs of runs from the hub."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.formats import counted, readable
from ansible_collections.federated.flower.plugins.plugin_utils.flower import outputs_table, run_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader


class ActionModule(ClusterAction):
    """See the module's documentation."""

    MUST_RECORD = False  # data scientists may not write the audit trail
    SPEC = {
        "required_one_of": [("run_ids", "inputs", "keep", "older_than")],
        "mutually_exclusive": [
            ("run_ids", "keep"), ("run_ids", "older_than"), ("inputs", "keep"), ("inputs", "older_than"),
        ],
    }  # fmt: skip

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Choose and delete; nothing is deleted while one of the named runs has none, or is active."""
        named = runs.ids(params["run_ids"] or [])
        named_inputs = outputs_table.names(params["inputs"] or [])
        keep = params["keep"]
        if keep is not None and keep < 0:
            raise FlowerError(f"keep: {keep} is negative; 0 keeps no outputs of finished runs")
        now = datetime.datetime.now(datetime.timezone.utc)
        limit = outputs_table.age_limit(params["older_than"], now) if params["older_than"] else None
        warnings: list[str] = []
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            reader = Reader(cli)
            room, stored, sent = reader.list(named, warnings)
            # After the outputs: a run that began meanwhile is among those that Flower knows, and so is active.
            known = run_table.known_runs(cli)
            listed, inputs = outputs_table.entries(stored, [*known.values()]), outputs_table.input_entries(sent, [*known.values()])
            run_table.refuse_active(named, known, "deleted")
            outputs_table.refuse_in_use(named, listed, named_inputs, inputs)
            outputs, sets = {one["run_id"]: one for one in listed}, {one["name"]: one for one in inputs}
            gone = named or outputs_table.expired(listed, keep, limit)
            gone_inputs = named_inputs or outputs_table.expired(inputs, keep, limit)
            wanted, wanted_inputs = [one for one in gone if one in outputs], [one for one in gone_inputs if one in sets]
            refused: dict[str, str] = {}
            if (wanted or wanted_inputs) and not self.check:
                refused = reader.delete(wanted, wanted_inputs, {one.name: one.used for one in (*stored, *sent)})
                room = reader.room()
        deleted = [one for one in wanted if one not in refused]
        deleted_inputs = [one for one in wanted_inputs if one not in refused]
        absent, absent_inputs = [one for one in gone if one not in outputs], [one for one in gone_inputs if one not in sets]
        size, size_of_inputs = sum(int(outputs[one]["size"]) for one in deleted), sum(int(sets[one]["size"]) for one in deleted_inputs)
        if (deleted or deleted_inputs) and not self.check:
            facts = [
                {"run": one, "app": f"{outputs[one]['app']} {outputs[one]['version']}".strip(), "fab_hash": outputs[one]["fab_hash"], **_sums(outputs[one])}
                for one in deleted
            ]
            facts += [{"inputs": one, **_sums(sets[one])} for one in deleted_inputs]
            self.note(outputs=[{"change": "deleted", **one} for one in facts])
        words = []
        verb = "would delete" if self.check else "deleted"
        if deleted:
            words.append(f"{verb} the outputs of {counted(len(deleted), 'run')}, {readable(size)}: {', '.join(deleted)}")
        if deleted_inputs:
            words.append(f"{verb} {len(deleted_inputs)} inputs, {readable(size_of_inputs)}: {', '.join(deleted_inputs)}")
        words += [f"run {one} has no outputs" for one in absent]
        words += [f"there are no inputs {one}" for one in absent_inputs]
        words += [f"the {'outputs of run' if one in wanted else 'inputs'} {one} cannot be deleted: {why}" for one, why in refused.items()]
        message = "; ".join([*(words or ["no outputs are to be deleted"]), str(room)])
        return {
            "changed": bool(deleted or deleted_inputs),
            "failed": bool(refused),
            "warnings": warnings,
            "deleted": deleted,
            "deleted_inputs": deleted_inputs,
            "absent": [*absent, *absent_inputs],
            "kept": [one for one in outputs if one not in deleted],
            "kept_inputs": [one for one in sets if one not in deleted_inputs],
            "size": size + size_of_inputs,
            "room": room.facts(),
            "msg": self.named(FlowerError(message)) if refused else message,
        }


def _sums(one: dict[str, Any]) -> dict[str, Any]:
    return {"files": one["files"], "size": one["size"]}
