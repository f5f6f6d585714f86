# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.run): submit an app to the SuperLink and follow the run to its end."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_config, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError

_SHOWN = 15  # lines of the log in the message of a run that failed


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "app": {"type": "path"},
        "run_id": {"type": "str"},
        "run_config": {"type": "dict", "default": {}},
        "namespace": {"type": "str", "default": "flower"},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 3600},
        "log_lines": {"type": "int", "default": 50},
    }
    SPEC = {"required_one_of": [("app", "run_id")], "mutually_exclusive": [("app", "run_id"), ("run_config", "run_id")]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check the app before anything is sent; after that the run's number is part of every message."""
        if params["run_id"]:
            if not params["run_id"].isdigit():
                raise FlowerError(f"run_id is a number, not '{params['run_id']}'")
            with self.connect() as hub:
                return self._follow(FlowerCLI(hub, params["namespace"]), params["run_id"], {"changed": False})
        app = apps.load(params["app"])
        config = run_config.check(params["run_config"] or {}, app.defaults, app.name)
        about = {"name": app.name, "version": app.version, "files": len(app.files), "size": app.size}
        result: dict[str, Any] = {"changed": True, "app": about, "run_config": config, "warnings": app.warnings}
        if self.check:
            return result | {"msg": f"would submit {app.name} {app.version}"}
        with self.connect() as hub:
            cli = FlowerCLI(hub, params["namespace"])
            answer = runs.submit(cli, app, config)
            about["fab_hash"] = str(answer.get("fab-hash", ""))
            return self._follow(cli, str(answer["run-id"]), result)

    def _follow(self, cli: FlowerCLI, run_id: str, result: dict[str, Any]) -> dict[str, Any]:
        result["run_id"] = run_id
        try:
            if self.params["wait"]:
                run, trouble = runs.follow(cli, run_id, self.params["wait_timeout"])
            elif result["changed"]:
                return result | {"status": "pending", "msg": f"run {run_id} was submitted"}
            else:
                run, trouble = runs.look(cli, run_id), ""
        except ClusterError as error:
            return result | {"failed": True, "msg": self.named(FlowerError(f"run {run_id}: {error.message}"))}
        try:
            log = runs.read_log(cli, run)
        except ClusterError as error:
            log = []
            result["warnings"] = [*result.get("warnings", []), f"cannot read the log of run {run_id}: {error.message}"]
        kept = max(self.params["log_lines"], 0)
        output = runs.highlights(log)
        result |= {
            "status": run.status,
            "elapsed": run.elapsed,
            "log": log[-kept:] if kept else [],
            "output": output[-kept:] if kept else [],
        }
        if run.status == runs.COMPLETED:
            return result | {"msg": f"run {run_id} of {run.app} completed in {run.elapsed:.1f} s"}
        if not run.finished and not self.params["wait"]:
            return result | {"msg": f"run {run_id} of {run.app} is {run.status}"}
        if run.finished:
            words = runs.describe_end(run)
        else:
            words = runs.describe_timeout(cli, run, self.params["wait_timeout"], trouble)
        if output:
            words += "\nThe end of its log:\n" + "\n".join(f"  {line}" for line in output[-_SHOWN:])
        return result | {"failed": True, "msg": self.named(FlowerError(words))}
