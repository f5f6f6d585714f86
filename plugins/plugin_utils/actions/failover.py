# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let the standby serve instead of the hub, step by step."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..backup import hub_pair, leadership_plans, volume_pod
from ..backup.database import Volume
from ..backup.hub_pair import End
from ..backup.leadership import ACTIVE, Term
from ..backup.leadership_plans import Failover
from ..base.errors import ClusterError
from ..base.object_names import DATABASE_CLAIM, STANDBY_CONFIG, SUPERLINK_POD
from ..flower import runs
from ..flower.cli import FlowerCLI, superlink_state
from ..kube.api_errors import Unavailable, Unreachable
from .standby_action import StandbyAction

_SECONDS = 8  # for the answer of a hub that may be lost


class FailoverAction(StandbyAction):
    """An action with the steps of a failover."""

    def plan_failover(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """What a failover would do; refused unless it is confirmed."""
        begun = time.time()
        there = target.term
        own, reached, runs_on, lost = self._ask_hub(params)
        plan = leadership_plans.failover_plan(params["hub"], target.host, own, there, reached=reached, runs=runs_on)
        if plan.promote and not plan.fence:
            lost = lost or f"there is no hub of the federation {target.spec.federation} on {params['hub']}"
        lines: list[str] = []
        wrong = [plan.fault] if plan.fault else self._errors(params, target, plan, own, there, lines)
        if wrong:
            raise ClusterError("; ".join(wrong) + ". Nothing was changed.")
        lines = [*self._lines(params, target, plan, there, lost), *lines]
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

    def _ask_hub(self, params: dict[str, Any]) -> tuple[Term | None, bool, bool, str]:
        """The record of the hub, whether there is a hub that answers, whether it is not stopped, and why it is not asked, empty if it is."""
        if params["hub_lost"]:
            return None, False, False, "flower_failover_hub_lost is true"
        try:
            with self.connect(params["hub"], timeout=_SECONDS) as cluster:
                self._site = self.inventory_host
                cluster.request("GET", "/version")
                source = self.described(params["hub"], cluster, params["hub_described"])
                own = source.term
                return own, own is not None or source.is_hub, not hub_pair.is_stopped(source), ""
        except (Unreachable, Unavailable) as error:
            return None, False, False, error.message
        except ClusterError as error:
            raise ClusterError(
                f"the hub {params['hub']} cannot be queried: {error.message} Nothing was changed. If it is lost: -e flower_failover_hub_lost=true"
            ) from error

    def _errors(
        self, params: dict[str, Any], target: End, plan: Failover, own: Term | None, there: Term | None, lines: list[str]
    ) -> list[str]:
        """Why the plan cannot be carried out, sentences: all that would be found only when the hub is stopped. Adds to what the plan says."""
        wrong: list[str] = []
        if plan.copy:
            with self.other(params, timeout=_SECONDS) as source:
                if own is None or own.state == ACTIVE:
                    active, words = self._judge_runs(source, abandon=params["abandon_runs"])
                    wrong += filter(None, [active])
                    lines += filter(None, [words])
                wrong += self.copy_errors(params, source, target, own, there)[0]
                wrong += hub_pair.restarters(source)
                if superlink_state(source.get("Pod", SUPERLINK_POD)) is None:  # otherwise the copy finds out
                    measured = Volume(source.cluster, source.spec.namespace, SUPERLINK_POD).ask("measure")
                    wrong += filter(None, [hub_pair.room_error(source.host, measured)])
        elif plan.promote:
            wrong += self._claim_errors(target, there)
        if plan.promote and not wrong:
            self.refuse_foreign(target)
        return wrong

    def fence_hub(self, params: dict[str, Any], end: End) -> dict[str, Any]:
        """Stop the hub. What may have changed since the plan, while the lease was waited for, is judged once more before."""
        if params["plan"]["copy"]:
            own = end.term
            if (own is None or own.state == ACTIVE) and (active := self._judge_runs(end, abandon=params["abandon_runs"])[0]):
                raise ClusterError(f"{active}. Nothing was changed.")
        changed = self.fence(end, params["plan"]["number"], params["hub"], params["wait_timeout"])
        if not params["plan"]["copy"] and (again := hub_pair.restarters(end)):
            raise ClusterError(f"{end.host} is stopped. But {'; '.join(again)}. Then run the playbook again, which stops it if it was started.")
        return {"changed": changed, "msg": f"{end.host} is fenced: none of its pods runs"}

    @staticmethod
    def _judge_runs(source: End, *, abandon: bool) -> tuple[str, str]:
        """See C(hub_pair.runs_error). A hub whose SuperLink is down runs nothing that could be listed."""
        found: Sequence[Mapping[str, Any]] | str
        try:
            down = superlink_state(source.get("Pod", SUPERLINK_POD))
            if down is not None:
                return "", f"abandon the active runs of {source.host}, which cannot be listed, because its SuperLink is down ({down})"
            found = runs.read_all(FlowerCLI(source.cluster, source.spec.namespace))
        except ClusterError as error:
            found = error.message
        return hub_pair.runs_error(source.host, found, abandon=abandon)

    @staticmethod
    def _claim_errors(target: End, there: Term | None) -> list[str]:
        """Whether the volume with the copy is still there: a SuperLink would start with an empty one."""
        if there is not None and there.claim and target.claim_uid == there.claim:
            return []
        return [
            f"{target.host}: the volume claim {target.spec.namespace}/{DATABASE_CLAIM} is not the one with the copy of "
            f"{there.copied if there else 'the hub'}: it was deleted in the meantime. Restore a backup (federated.flower.restore)"
        ]

    @staticmethod
    def _lines(params: Mapping[str, Any], target: End, plan: Failover, there: Term | None, lost: str) -> list[str]:
        hub, standby = params["hub"], target.host
        lines = []
        if plan.fence:
            lines.append(f"fence {hub}: stop its SuperLink, gateway and ServerApp")
        elif lost:
            lines.append(f"continue without {hub}, which is not fenced until this playbook or federated.flower.standby reaches it ({lost})")
        if plan.copy:
            lines.append(f"copy {hub} to {standby} once more, so that no finished run, SuperNode or key is lost")
        elif plan.promote:
            lines.append(f"use the copy of {there.copied if there else ''}: what {hub} changed since then is lost")
        if plan.promote and target.spec.outputs_enabled:
            lines.append(f"leave the outputs of runs on the volume of {hub}, from which federated.flower.outputs fetches them before a failover")
        lines.append(f"have {standby} serve in term {plan.number}" if plan.promote else f"{standby} serves in term {plan.number} already")
        return [*lines, f"run site.yml with {standby} as the hub, which connects the sites to it"]

    def promote(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Copy the stopped hub once more if it is reached, and write that the standby serves."""
        plan, hub = params["plan"], params["hub"]
        try:
            there = target.term
            if there is not None and there.state == ACTIVE:
                return {"changed": False, "msg": f"{target.host} serves in term {there.number} already"}
            words, copied = self._prepare(params, target, there)
            claim = target.claim_uid
        except ClusterError as error:
            if not (plan["fence"] and plan["promote"]):
                raise
            raise ClusterError(
                f"{error.message.rstrip('.')}. {hub} is fenced, and no hub serves. Correct this and run the playbook again. Or have {hub} serve again: "
                f"delete the ConfigMap {STANDBY_CONFIG} in its namespace, and run federated.flower.site with it in the group flower_hub"
            ) from error
        term = Term(ACTIVE, plan["number"], target.host, hub, hub_claim=claim)
        target.store(term)
        self.note(words=[f"began to serve in term {term.number} instead of {hub}, {words}"])
        return {"changed": True, "copied": copied, "msg": f"{target.host} serves in term {term.number}, {words}"}

    def _prepare(self, params: dict[str, Any], target: End, there: Term | None) -> tuple[str, str]:
        """Bring what the standby will serve with to its cluster: words on that, and the time of the copy."""
        self.refuse_foreign(target)
        copied = there.copied if there else ""
        words = f"with the copy of {copied}"
        if params["plan"]["copy"]:
            with self.other(params) as source:
                wrong = self.copy_errors(params, source, target, source.term, there)[0]
                if not wrong:
                    done = hub_pair.copy(source, target, stopped=True, seconds=params["wait_timeout"], assure=lambda: self.assure(target))
                    words, copied = f"with {done.words}", done.copied
        else:
            wrong = self._claim_errors(target, there)
        if wrong:
            raise ClusterError("; ".join(wrong))
        volume_pod.remove(target.cluster, target.spec, params["wait_timeout"])
        return words, copied
