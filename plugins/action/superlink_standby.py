# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_standby): copy a hub to its standby, once or for as long as it is followed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import run_facts
from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_action import DESCRIBED, StandbyAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.lease import block, lease_object
from ansible_collections.federated.flower.plugins.plugin_utils.lease.taking import Lease
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.standby import (
    copying,
    fencing,
    term_record,
    terms,
)
from ansible_collections.federated.flower.plugins.plugin_utils.standby.copying import End
from ansible_collections.federated.flower.plugins.plugin_utils.standby.course import Course, Seen, all_digests, database_mark
from ansible_collections.federated.flower.plugins.plugin_utils.standby.terms import ACTIVE, STANDBY, Term

_LEASE = 60  # seconds to wait for another playbook


class ActionModule(StandbyAction):
    """See the module's documentation."""

    ARGS = {
        **DESCRIBED,
        "hub": {"type": "str", "required": True},
        "hub_described": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": ["present", "followed", "absent"], "default": "present"},
        "seconds": {"type": "int", "default": 3600},
        "interval": {"type": "float", "default": 5.0},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """A hub that serves in an older term is fenced before anything else, also where nothing can be copied then."""
        with self.connect() as cluster:
            target = self.own(params, cluster)
            there = term_record.read(cluster, target.spec.namespace)
            if params["state"] == "absent":
                return self._leave(params, there)
            if params["state"] == "followed":
                return self._follow(params, target)
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

    # ---- followed ----------------------------------------------------------------------------------------------------

    def _follow(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """A fault is said and the hub looked at again, since a hub that does not answer for a while is what a standby is for."""
        seconds, pause = params["seconds"], params["interval"]
        if seconds < 0 or pause <= 0:
            raise ClusterError(f"seconds is {seconds} and interval is {pause:g}: a hub is followed for some seconds, with pauses of more than 0")
        if self.check:
            return {"changed": False, "copies": 0, "msg": f"would follow {params['hub']} for {seconds} s"}
        self._noted = True  # see _copy
        course, fault, over = Course(), "", ""
        end = time.monotonic() + seconds
        while not over and time.monotonic() < end:
            try:
                over, fault = self._step(params, target, course), ""
            except ClusterError as error:
                if error.message != fault:
                    self.say(f"{params['hub']} is not followed at present: {error.message}")
                fault = error.message
            if not over:
                time.sleep(max(0.0, min(pause, end - time.monotonic())))
        if fault:
            raise ClusterError(
                f"{params['hub']} was not followed to the end: {fault} What it did after {course.current or 'the last copy'} is not copied."
            )
        msg = f"followed {params['hub']} and made {course.copies} copies, until {over or f'the time was over; current at {course.current}'}"
        return {"changed": course.copies > 0, "copies": course.copies, "copied": course.current, "msg": msg}

    def _step(self, params: dict[str, Any], target: End, course: Course) -> str:
        """Look at the hub, and copy what is behind; why it is not followed any more, empty if it is."""
        now, moment = time.monotonic(), copying.moment()
        there = term_record.read(target.cluster, target.spec.namespace)
        if there is not None and there.state == ACTIVE:
            return f"{target.host} serves, in term {there.number}"
        with self.other(params["hub"], params["hub_described"]) as source:
            database = database_mark(source)
            closely = course.looks_closely(database, now)
            seen = replace(course.known, database=database)
            if closely:
                seen = all_digests(source, database, with_outputs=params["outputs"])
            if course.is_behind(seen) or (closely and course.is_silent(now)):
                with self.connect() as own:
                    over = self._keep_up(params, source, target, course, seen, moment, own)
                if over:
                    return over
                course.noted, course.current = now, moment
            if closely:
                course.looked = now
        return ""

    def _keep_up(
        self, params: dict[str, Any], source: End, target: End, course: Course, seen: Seen, moment: str, own: Cluster
    ) -> str:
        """Under the lease, since a failover may have begun: copy what is behind, or note that nothing is."""
        facts, folder = run_facts(self.task_vars), Path(constants.DEFAULT_LOCAL_TMP)
        spec = target.spec
        lease = Lease(own, spec.namespace, spec.federation, lease_object.identity(facts, folder.name))
        if lease.take(_LEASE, self.say) is None:
            raise ClusterError(f"{target.host}: its namespace {spec.namespace} is gone. Run federated.flower.standby")
        with block.held(lease, folder, facts["pid"]):
            there = term_record.read(target.cluster, spec.namespace)
            mine = term_record.read(source.cluster, source.spec.namespace)
            plan = terms.copy_plan(source.host, target.host, mine, there)
            if plan.fault or plan.fence or there is None:
                return plan.fault or f"{plan.fence or target.host} is to be fenced, or has no record: run federated.flower.standby"
            if not course.is_behind(seen):
                self._store(target, replace(there, copied=moment))
                self._store(source, replace(mine, copied=moment) if mine else there)
                return ""
            done = self._copy(params, source, target, there, has_database=course.claim_of(seen))
        self.say(f"{done['copied']} {done['msg']}")
        course.copies += 1
        course.claim = done["claim"]
        course.known = replace(seen, outputs="") if done["outputs"].get("changing") else seen
        return ""

    def _copy(
        self, params: dict[str, Any], source: End, target: End, there: Term | None, has_database: str = ""
    ) -> dict[str, Any]:
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
            source, target, stopped=False, with_outputs=params["outputs"], seconds=params["wait_timeout"], say=self.say,
            has_database=has_database,
        )  # fmt: skip
        self._store(target, Term(STANDBY, plan.number, source.host, target.host, done.copied, done.claim))
        self._store(source, replace(begun, copied=done.copied))
        # Copies are not recorded in the audit trail, which is part of them: each would make the next one necessary.
        self._noted = True
        return {
            "changed": bool(done.replaced or done.objects or (done.outputs and done.outputs.changed) or fenced),
            "term": plan.number,
            "copied": done.copied,
            "claim": done.claim,
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
