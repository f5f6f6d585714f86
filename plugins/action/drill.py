# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.drill): break one thing on purpose, measure the recovery, and undo it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS, FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import given_spec
from ansible_collections.federated.flower.plugins.plugin_utils.backup import age_keys
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.drill import conducting, mark
from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_table as table
from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_verdict as verdict
from ansible_collections.federated.flower.plugins.plugin_utils.drill.bench import Bench, Options
from ansible_collections.federated.flower.plugins.plugin_utils.drill.conducting import Submit
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_config
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import Reach, Site
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec


class ActionModule(FleetAction):
    """See the module's documentation."""

    ARGS = {
        **OPTIONS,
        "step": {"type": "str", "required": True, "choices": ["undo", "plan", "conduct", "report"]},
        "ca_namespace": {"type": "str", "required": True},
        "drills": {"type": "raw"},
        "confirm": {"type": "str", "default": ""},
        "targets": {"type": "raw"},
        "site": {"type": "str", "default": ""},
        "seconds": {"type": "int", "default": 60},
        "wait": {"type": "int", "default": 300},
        "app": {"type": "path"},
        "app_config": {"type": "dict", "default": {}},
        "app_wait": {"type": "int", "default": 900},
        "directory": {"type": "path"},
        "recipients": {"type": "list", "elements": "str", "default": [], "no_log": False},
        "identity": {"type": "str", "no_log": True},
        "rows": {"type": "list", "elements": "dict", "default": []},
    }

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Do one step. Sites whose variables are wrong take no part; others may be chosen."""
        if params["step"] == "report":
            rows = params["rows"]
            faults = verdict.faults(rows)
            return {"rows": rows, "lines": verdict.table(rows), "faults": faults, "msg": f"{len(rows)} drills, {len(faults)} not as they should be"}
        spec = given_spec(self, None)
        result: dict[str, Any]
        with self.connect() as hub:
            hub.name = self.inventory_host
            if params["step"] == "undo" and not mark.is_there(hub, spec.namespace):
                return {"changed": False, "msg": "nothing to undo"}
            bench = self._bench(params, hub, spec, sites)
            if params["step"] == "undo":
                result = self._undo(bench)
            else:
                result = getattr(self, f"_{params['step']}")(params, bench)
        return result

    def _bench(self, params: dict[str, Any], hub: Cluster, spec: HubSpec, sites: dict[str, Site]) -> Bench:
        if params["seconds"] < 1 or params["wait"] < 1:
            raise ClusterError("flower_drill_seconds and flower_drill_wait are numbers of seconds, at least 1")
        options = Options(
            params["site"],
            params["seconds"],
            params["wait"],
            Path(params["directory"]) if params["directory"] else None,
            age_keys.recipients_of(params["recipients"]) if params["recipients"] else (),
            age_keys.identity_of(params["identity"]) if params["identity"] else None,
        )
        place = ca_namespace.resolve(hub, spec.namespace, params["ca_namespace"])

        def reach(name: str) -> Reach:
            return self.reach({name: sites[name]})[name]

        return Bench(self, hub, spec, place, options, list(sites), reach)

    def _undo(self, bench: Bench) -> dict[str, Any]:
        if self.check:
            known = bench.store.read()
            return {"changed": bool(known), "msg": f"would undo the drill {known['drill']} of {known['started']}" if known else "nothing to undo"}
        words = conducting.undo(bench)
        if words:
            self.note(words=words)
        return {"changed": bool(words), "msg": "; ".join(words) or "nothing to undo"}

    def _plan(self, params: dict[str, Any], bench: Bench) -> dict[str, Any]:
        """What would be broken; what refuses it is an error, and in check mode a line of the plan."""
        drills, targets, _submit = self._wanted(params, bench)
        made, refused = conducting.refusals(bench, drills)
        if not self.check:
            refused = [*filter(None, [table.confirm_fault(params["confirm"], bench.federation)]), *refused]
            if refused:
                raise ClusterError("\n".join(refused) + "\nNothing was changed.")
        lines = conducting.outlook(drills, made, targets) + [f"refused now: {why}" for why in refused]
        return {"drills": [drill.name for drill in drills], "lines": lines, "msg": f"{len(drills)} drills"}

    def _wanted(self, params: dict[str, Any], bench: Bench) -> tuple[list[table.Drill], dict[str, int], Submit | None]:
        try:
            drills, targets = table.chosen(params["drills"]), table.targets(params["targets"])
        except ValueError as error:
            raise ClusterError(f"{error}. Nothing was changed.") from error
        submit = None
        if params["app"]:
            if any(drill.name == "database_lost" for drill in drills):
                raise ClusterError("flower_drill_app: database_lost is not conducted during a run, which would be lost with it. Nothing was changed.")
            app = apps.load(params["app"])
            submit = conducting.submission(bench, app, run_config.check(params["app_config"] or {}, app.defaults, app.name))
        return drills, targets, submit

    def _conduct(self, params: dict[str, Any], bench: Bench) -> dict[str, Any]:
        (drill,), targets, submit = self._wanted(params, bench)
        fault = table.confirm_fault(params["confirm"], bench.federation)
        if self.check or fault:
            if not self.check:
                raise ClusterError(f"{fault}. Nothing was changed.")
            return {"changed": True, "msg": f"would conduct {drill.name}", "row": {}}
        row = conducting.conduct(bench, drill, targets[drill.name], submit, params["app_wait"])
        return {"changed": True, "row": row, "msg": f"{drill.name}: {row['result']}; {verdict.words(row)}"}
