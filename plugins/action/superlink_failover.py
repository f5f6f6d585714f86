# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_failover): have the standby serve instead of the hub, step by step."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_action import DESCRIBED, StandbyAction
from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_pod
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.standby import copying, term_record, terms
from ansible_collections.federated.flower.plugins.plugin_utils.standby.copying import End
from ansible_collections.federated.flower.plugins.plugin_utils.standby.terms import ACTIVE, Failover, Term

_CLAIM = "PersistentVolumeClaim"
_SECONDS = 8  # for the answer of a hub that may be lost


class ActionModule(StandbyAction):
    """See the module's documentation."""

    ARGS = {
        **DESCRIBED,
        "hub": {"type": "str", "required": True},
        "hub_described": {"type": "dict", "default": {}},
        "state": {"type": "str", "choices": ["planned", "fenced", "promoted"], "required": True},
        "plan": {"type": "dict", "default": {}},
        "confirmed": {"type": "bool", "default": False},
        "hub_lost": {"type": "bool", "default": False},
        "abandon_runs": {"type": "bool", "default": False},
    }
    SPEC = {"required_if": [("state", "fenced", ["plan"]), ("state", "promoted", ["plan"])]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """C(planned) and C(promoted) run for the standby, C(fenced) for the hub."""
        with self.connect() as cluster:
            end = self.own(params, cluster)
            if params["state"] == "planned":
                return self._plan(params, end)
            if params["state"] == "fenced":
                changed = self.fence(end, params["plan"]["number"], params["hub"], params["wait_timeout"])
                return {"changed": changed, "msg": f"{end.host} is fenced: none of its pods runs"}
            return self._promote(params, end)

    # ---- planned -----------------------------------------------------------------------------------------------------

    def _plan(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        begun = time.time()
        there = term_record.read(target.cluster, target.spec.namespace)
        lost = "flower_failover_hub_lost is true" if params["hub_lost"] else ""
        words: list[str] = []
        if lost:
            plan = terms.failover_plan(params["hub"], target.host, None, there, reached=False)
            wrong: list[str] = []
        else:
            try:
                plan, wrong = self._plan_with_hub(params, target, there, words)
            except Unreachable as error:
                lost, wrong = error.message, []
                plan = terms.failover_plan(params["hub"], target.host, None, there, reached=False)
            except ClusterError as error:
                raise ClusterError(
                    f"the hub {params['hub']} cannot be asked: {error.message} Nothing was changed. If it is lost: -e flower_failover_hub_lost=true"
                ) from error
            if not lost and plan.promote and not plan.fence:
                lost = f"there is no hub of the federation {target.spec.federation} on {params['hub']}"
        wrong = [*filter(None, [plan.fault]), *wrong]
        if not wrong and plan.promote and not plan.copy:
            wrong = self._claim_faults(target, there)
        if wrong:
            raise ClusterError("; ".join(wrong) + ". Nothing was changed.")
        lines = [*self._lines(params["hub"], target.host, plan, there, lost), *words]
        if not self.check and not params["confirmed"]:
            raise ClusterError(
                "this is a failover, and nothing was changed. To confirm, add -e flower_failover=true. It would: " + "; ".join(lines)
            )
        return {
            "changed": self.check and (plan.promote or plan.fence),
            "plan": {**vars(plan), "begun": begun, "lost": lost, "copied": there.copied if there else ""},
            "lines": lines,
            "msg": "; ".join(lines),
        }

    def _plan_with_hub(self, params: dict[str, Any], target: End, there: Term | None, words: list[str]) -> tuple[Failover, list[str]]:
        """The plan where the hub's cluster answers.

        Raises:
            Unreachable: it does not.
        """
        with self.connect(params["hub"], timeout=_SECONDS) as cluster:
            self._site = self.inventory_host
            spec = target.spec
            cluster.request("GET", "/version")
            source = End(params["hub"], cluster, spec, target.ca_namespace)
            own = term_record.read(cluster, spec.namespace)
            reached = own is not None or source.is_hub
            plan = terms.failover_plan(params["hub"], target.host, own, there, reached=reached)
            if plan.fault or not plan.copy or (own is not None and own.state != ACTIVE):
                return plan, []
            return plan, self._active_runs(params, cluster, words)

    @staticmethod
    def _active_runs(params: dict[str, Any], cluster: Any, words: list[str]) -> list[str]:
        """Why runs forbid a failover of a hub that serves."""
        try:
            found = runs.read_all(FlowerCLI(cluster, params["spec"]["namespace"]))
        except ClusterError as error:
            words.append(f"runs that are active are not known ({error.message})")
            return []
        active = [str(run["run-id"]) for run in found if not str(run.get("status", "")).startswith("finished")]
        if not active:
            return []
        if params["abandon_runs"]:
            words.append(f"abandon {len(active)} active runs ({', '.join(active)}), which fail")
            return []
        return [
            f"{params['hub']} serves, and has active runs ({', '.join(active)}), which would fail: wait for their end, or add "
            "-e flower_failover_abandon_runs=true"
        ]

    @staticmethod
    def _claim_faults(target: End, there: Term | None) -> list[str]:
        """Whether the volume with the copy is still there: a SuperLink would start with an empty one."""
        live = target.cluster.get("v1", _CLAIM, superlink.CLAIM, target.spec.namespace)
        if live is not None and there is not None and live["metadata"]["uid"] == there.claim:
            return []
        return [
            f"{target.host}: the volume claim {target.spec.namespace}/{superlink.CLAIM} is not the one with the copy of "
            f"{there.copied if there else 'the hub'}: it was deleted meanwhile. Restore a backup (federated.flower.restore)"
        ]

    @staticmethod
    def _lines(hub: str, standby: str, plan: Failover, there: Term | None, lost: str) -> list[str]:
        copied = there.copied if there else ""
        lines = []
        if plan.fence:
            lines.append(f"fence {hub}: stop its SuperLink, gateway and ServerApp")
        elif lost:
            lines.append(f"go on without {hub}, which is not fenced until this playbook or federated.flower.standby reaches it ({lost})")
        if plan.copy:
            lines.append(f"copy {hub} to {standby} once more, so that nothing is lost")
        elif plan.promote:
            lines.append(f"use the copy of {copied}: what {hub} did since is lost")
        lines.append(f"have {standby} serve in term {plan.number}" if plan.promote else f"{standby} serves in term {plan.number} already")
        return [*lines, f"run site.yml with {standby} as the hub, which brings the sites there"]

    # ---- promoted ----------------------------------------------------------------------------------------------------

    def _promote(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        plan, spec = params["plan"], target.spec
        look(target.cluster, "superlink", spec, target.ca_namespace, owner=record.notes(spec.federation))
        there = term_record.read(target.cluster, spec.namespace)
        if there is not None and there.state == ACTIVE:
            return {"changed": False, "msg": f"{target.host} serves in term {there.number} already"}
        words, copied = f"with the copy of {there.copied if there else ''}", there.copied if there else ""
        if plan["copy"]:
            with self.other(params["hub"], params["hub_described"]) as source:
                wrong = copying.faults(source, target)
                if wrong:
                    raise ClusterError("; ".join(wrong) + f". {source.host} is fenced; correct this and run the playbook again.")
                done = copying.copy(
                    source, target, stopped=True, with_outputs=params["outputs"], seconds=params["wait_timeout"], say=self.say,
                    assure=lambda: self.assure(target),
                )  # fmt: skip
            words, copied = f"with {done.words}", done.copied
        elif wrong := self._claim_faults(target, there):
            raise ClusterError("; ".join(wrong))
        volume_pod.remove(target.cluster, spec, params["wait_timeout"])
        term = Term(ACTIVE, plan["number"], target.host, params["hub"])
        term_record.store(target.cluster, spec.namespace, spec.federation, term)
        self.note(words=[f"began to serve in term {term.number} instead of {params['hub']}, {words}"])
        return {"changed": True, "copied": copied, "msg": f"{target.host} serves in term {term.number}, {words}"}
