# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_standby): copy a hub to its standby."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_action import DESCRIBED, StandbyAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.standby import copying, fencing, term_record, terms
from ansible_collections.federated.flower.plugins.plugin_utils.standby.copying import End
from ansible_collections.federated.flower.plugins.plugin_utils.standby.terms import ACTIVE, STANDBY, Term


class ActionModule(StandbyAction):
    """See the module's documentation."""

    ARGS = {
        **DESCRIBED,
        "hub": {"type": "str", "required": True},
        "hub_described": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """A hub that serves in an older term is fenced before anything else, also where nothing can be copied then."""
        with self.connect() as cluster:
            target = self.own(params, cluster)
            there = term_record.read(cluster, target.spec.namespace)
            if params["state"] == "absent":
                return self._leave(params, there)
            with self.other(params["hub"], params["hub_described"]) as source:
                return self._copy(params, source, target, there)

    def _leave(self, params: dict[str, Any], there: Term | None) -> dict[str, Any]:
        """Whether this host may be removed; its hub forgets it."""
        if there is not None and there.state == ACTIVE:
            raise ClusterError(
                f"it serves in term {there.number}, so it is not removed as a standby. Exchange the hosts of the groups flower_hub and "
                "flower_standby in the inventory"
            )
        if there is None:
            return {"changed": False, "removable": False, "msg": "there is no standby"}
        with self.other(params["hub"], params["hub_described"]) as source:
            own = term_record.read(source.cluster, source.spec.namespace)
            if own is not None and own.state == ACTIVE and own.standby and not self.check:
                spec = source.spec
                term_record.store(source.cluster, spec.namespace, spec.federation, replace(own, standby="", copied="", claim=""))
        return {"changed": True, "removable": True, "msg": f"{'would remove' if self.check else 'removes'} the standby"}

    def _copy(self, params: dict[str, Any], source: End, target: End, there: Term | None) -> dict[str, Any]:
        own = term_record.read(source.cluster, source.spec.namespace)
        plan = terms.copy_plan(source.host, target.host, own, there)
        fenced = self._fence(params, plan, source, target, there)
        wrong = [plan.fault] if plan.fault else copying.faults(source, target)
        if not wrong and there is None and fencing.serves(target.cluster, target.spec.namespace):
            wrong.append(
                f"{target.host} has a SuperLink that serves, and no record that it is a standby: it is not replaced. Choose another cluster, or "
                "remove it"
            )
        if wrong:
            raise ClusterError("; ".join(wrong) + (f". Nothing was copied{fenced}." if fenced else ""))
        look(target.cluster, "superlink", target.spec, target.ca_namespace, owner=record.notes(target.spec.federation))
        if self.check:
            return {"changed": True, "msg": f"would copy {source.host} to {target.host} in term {plan.number}{fenced}"}
        begun = Term(ACTIVE, plan.number, source.host, target.host, there.copied if there and there.state == STANDBY else "")
        self._store(source, begun)
        done = copying.copy(
            source, target, stopped=False, with_outputs=params["outputs"], seconds=params["wait_timeout"], say=self.say
        )
        self._store(target, Term(STANDBY, plan.number, source.host, target.host, done.copied, done.claim))
        self._store(source, replace(begun, copied=done.copied))
        # Copies are not recorded in the audit trail, which is part of them: each would make the next one necessary.
        self._noted = True
        return {
            "changed": bool(done.replaced or done.objects or (done.outputs and done.outputs.changed) or fenced),
            "term": plan.number,
            "copied": done.copied,
            "database": done.size,
            "written": done.objects,
            "outputs": vars(done.outputs) if done.outputs else {},
            "msg": f"copied {source.host} to {target.host} in term {plan.number}{fenced}: {done.words}",
        }

    def _fence(self, params: dict[str, Any], plan: terms.CopyPlan, source: End, target: End, there: Term | None) -> str:
        """Fence the host that the plan names, and a standby whose SuperLink someone started; what was done, as the end of a sentence."""
        ends = {end.host: end for end in (source, target)}
        fenced, number = plan.fence, plan.number
        if not fenced and there is not None and there.state != ACTIVE and fencing.serves(target.cluster, target.spec.namespace):
            fenced = target.host
        if not fenced:
            return ""
        (serves,) = set(ends) - {fenced}
        if not self.check:
            self.fence(ends[fenced], number, serves, params["wait_timeout"])
        return f", after {fenced} {'would be' if self.check else 'was'} fenced"

    @staticmethod
    def _store(end: End, term: Term) -> None:
        term_record.store(end.cluster, end.spec.namespace, end.spec.federation, term)
