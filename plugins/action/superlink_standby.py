# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_standby): copy a hub to its standby, once or for as long as it is followed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import run_facts
from ansible_collections.federated.flower.plugins.plugin_utils.actions.standby_action import DESCRIBED, StandbyAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.lease import block, lease_object
from ansible_collections.federated.flower.plugins.plugin_utils.lease.taking import Lease
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import outputs, superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.standby import (
    copying,
    fencing,
    leadership,
    partial_copy,
    term_record,
)
from ansible_collections.federated.flower.plugins.plugin_utils.standby.copying import End
from ansible_collections.federated.flower.plugins.plugin_utils.standby.leadership import ACTIVE, STANDBY, Term

_CLAIM = "PersistentVolumeClaim"
_LEASE = 60  # seconds to wait for another playbook
_STEP = 5.0  # seconds after which the end of the playbook is noticed


class ActionModule(StandbyAction):
    """See the module's documentation."""

    ARGS = {
        **DESCRIBED,
        "hub": {"type": "str", "required": True},
        "hub_described": {"type": "dict", "required": True},
        "state": {"type": "str", "choices": ["checked", "present", "followed", "absent"], "default": "present"},
        "seconds": {"type": "int", "default": 3600},
        "interval": {"type": "float", "default": 120.0},
        "delete_volumes": {"type": "bool", "default": False},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """A hub that serves in an older term is fenced before anything else, also where nothing can be copied then."""
        with self.connect() as cluster:
            target = self.own(params, cluster)
            there = term_record.read(cluster, target.spec.namespace)
            if params["state"] == "absent":
                return self._leave(params, target, there)
            if params["state"] == "followed":
                return self._follow(params, target)
            with self.other(params["hub"], params["hub_described"]) as source:
                if params["state"] == "checked":
                    return self._look(params, source, target, there)
                return self._copy(params, source, target, there)

    def _look(self, params: dict[str, Any], source: End, target: End, there: Term | None) -> dict[str, Any]:
        """Whether the standby may be written to. Where a hub has to be fenced first, the copy does that, and says what is wrong then."""
        own = term_record.read(source.cluster, source.spec.namespace)
        plan = leadership.copy_plan(source.host, target.host, own, there)
        wrong = [plan.fault] if plan.fault else self.copy_faults(params, source, target, own, there)[0]
        if wrong and not plan.fence:
            raise ClusterError("; ".join(wrong) + ". Nothing was changed.")
        if not wrong:
            spec = target.spec
            look(target.cluster, SUPERLINK, spec, lambda: superlink.objects(spec.complete()), target.ca_namespace, owner=record.notes(spec.federation))
        return {"changed": False, "ready": not wrong, "msg": "; ".join(wrong) or f"{target.host} can be the standby of {source.host}"}

    def _leave(self, params: dict[str, Any], target: End, there: Term | None) -> dict[str, Any]:
        """Whether this host may be removed; its hub forgets it."""
        if there is not None and there.state == ACTIVE:
            raise ClusterError(
                f"it serves in term {there.number}, so it is not removed as a standby. Exchange the hosts of the groups flower_hub and "
                "flower_standby in the inventory"
            )
        with self.other(params["hub"], params["hub_described"]) as source:
            removable = there is not None or partial_copy.is_copy(source, target)
            own = term_record.read(source.cluster, source.spec.namespace)
            if removable and not params["delete_volumes"] and target.cluster.get("v1", _CLAIM, outputs.CLAIM, target.spec.namespace) is not None:
                raise ClusterError(
                    f"{target.host}: the volume claim {target.spec.namespace}/{outputs.CLAIM} would be deleted, which may have outputs of runs that "
                    f"{source.host} does not have. Save what you need. To delete it: -e flower_delete_volumes=true. Nothing was changed."
                )
            knows = own is not None and own.state == ACTIVE and bool(own.standby)
            if own is not None and knows and not self.check:
                spec, forgotten = source.spec, Term(ACTIVE, own.number, own.serves)
                term_record.store(source.cluster, spec.namespace, spec.federation, forgotten)
        words = f"{'would remove' if self.check else 'removes'} the standby"
        if not removable:
            words = f"there is no standby: no record says so, and the namespace {target.spec.namespace} has no copy of {params['hub']}"
        return {"changed": removable or knows, "removable": removable, "msg": words}

    # ---- followed ----------------------------------------------------------------------------------------------------

    def _follow(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Copy again and again. A fault is shown, and the next copy tried, since a hub that does not answer for a while is what a standby is for."""
        seconds, interval = params["seconds"], params["interval"]
        if self.check:
            return {"changed": False, "copies": 0, "msg": f"would copy {params['hub']} every {interval:g} s for {seconds} s"}
        self._noted = True  # see _copy
        params = {**params, "accept_volumes": False}  # the hub may get a volume later that is not the accepted one
        facts = run_facts(self.task_vars)
        copies, copied, fault, serving = 0, "", "", ""
        end = time.monotonic() + seconds
        while not serving and (now := time.monotonic()) < end and self._wait(min(now + interval, end), facts["pid"]):
            try:
                there = term_record.read(target.cluster, target.spec.namespace)
                if there is not None and there.state == ACTIVE:
                    serving, fault = f"{target.host} serves, in term {there.number}", ""
                    continue
                done = self._copy_again(params, target, facts)
            except ClusterError as error:
                if error.message != fault:
                    self.say(f"{params['hub']} is not copied at present: {error.message}")
                fault = error.message
            else:
                fault, copies, copied = "", copies + 1, done["copied"]
                self.say(f"{copied} {done['msg']}")
        if fault:
            raise ClusterError(f"{params['hub']} was not followed to the end: {fault} What it did after {copied or 'the last copy'} is not copied.")
        why = serving or "the time was over" + (f"; the last copy is of {copied}" if copied else "")
        return {"changed": copies > 0, "copies": copies, "copied": copied, "msg": f"followed {params['hub']} and made {copies} copies, until {why}"}

    @staticmethod
    def _wait(until: float, pid: int) -> bool:
        """Wait until a time of the monotonic clock; whether the playbook still runs. One that is killed leaves this fork behind."""
        while os.getppid() == pid and (left := until - time.monotonic()) > 0:
            time.sleep(min(_STEP, left))
        return os.getppid() == pid

    def _copy_again(self, params: dict[str, Any], target: End, facts: dict[str, Any]) -> dict[str, Any]:
        """A copy under the lease, which a failover can take between two of them. It neither fences nor begins to copy a hub."""
        folder, spec = Path(constants.DEFAULT_LOCAL_TMP), target.spec
        with self.other(params["hub"], params["hub_described"]) as source, self.connect() as own:
            lease = Lease(own, spec.namespace, spec.federation, lease_object.identity(facts, folder.name))
            if lease.take(_LEASE, self.say) is None:
                raise ClusterError(f"{target.host}: its namespace {spec.namespace} is gone. Run federated.flower.standby.")
            with block.held(lease, folder, facts["pid"]):
                there = term_record.read(target.cluster, spec.namespace)
                mine = term_record.read(source.cluster, source.spec.namespace)
                plan = leadership.copy_plan(source.host, target.host, mine, there)
                if plan.fault or plan.fence or there is None or mine is None:
                    why = plan.fault or (f"{plan.fence} is to be fenced" if plan.fence else "one of the two has no record of that")
                    raise ClusterError(f"{why}. Run federated.flower.standby.")
                return self._copy(params, source, target, there)

    def _copy(self, params: dict[str, Any], source: End, target: End, there: Term | None) -> dict[str, Any]:
        own = term_record.read(source.cluster, source.spec.namespace)
        plan = leadership.copy_plan(source.host, target.host, own, there)
        fenced = self._fence(params, plan, source, target, there)
        wrong, claim = [plan.fault], ""
        if not plan.fault:
            wrong, claim = self.copy_faults(params, source, target, own, there)
        if wrong:
            raise ClusterError("; ".join(wrong) + (f". Nothing was copied{fenced}." if fenced else ""))
        spec = target.spec
        look(target.cluster, SUPERLINK, spec, lambda: superlink.objects(spec.complete()), target.ca_namespace, owner=record.notes(spec.federation))
        if self.check:
            return {"changed": True, "msg": f"would copy {source.host} to {target.host} in term {plan.number}{fenced}"}
        former = there.copied if there and there.state == STANDBY else ""
        begun = Term(ACTIVE, plan.number, source.host, target.host, former, hub_claim=claim)
        if fenced:
            own = term_record.read(source.cluster, source.spec.namespace)
            there = term_record.read(target.cluster, target.spec.namespace)
        self._swap(source, own, begun)
        if there is None:  # a copy that is not completed can be removed as well
            first = Term(STANDBY, plan.number, source.host, target.host)
            self._swap(target, there, first)
            there = first
        done = copying.copy(source, target, stopped=False, seconds=params["wait_timeout"], assure=lambda: self.assure(target))
        complete = Term(STANDBY, plan.number, source.host, target.host, done.copied, done.claim, claim)
        self._swap(target, there, complete)
        self._swap(source, begun, replace(begun, copied=done.copied))
        # Copies are not recorded in the audit trail, which is part of them: they would be most of it.
        self._noted = True
        return {
            "changed": bool(done.replaced or done.objects or fenced),
            "term": plan.number,
            "copied": done.copied,
            "claim": done.claim,
            "database": done.size,
            "written": done.objects,
            "msg": f"copied {source.host} to {target.host} in term {plan.number}{fenced}: {done.words}",
        }

    def _fence(self, params: dict[str, Any], plan: leadership.CopyPlan, source: End, target: End, there: Term | None) -> str:
        """Fence the host that the plan names, and a standby whose SuperLink someone started; what was done, as the end of a sentence."""
        ends = {end.host: end for end in (source, target)}
        fenced, number = plan.fence, plan.number
        if not fenced and there is not None and there.state != ACTIVE and fencing.serves(target.cluster, target.spec.namespace):
            fenced = target.host
        if not fenced:
            return ""
        (serves,) = set(ends) - {fenced}
        if not self.check:
            end = ends[fenced]
            self.fence(end, number, serves, params["wait_timeout"])
            if again := fencing.restarters(end.cluster, end.spec.namespace, end.spec.federation):
                raise ClusterError(f"{fenced} is stopped. But {'; '.join(again)}. Nothing was copied.")
        return f", after {fenced} {'would be' if self.check else 'was'} fenced"

    def _swap(self, end: End, former: Term | None, term: Term) -> None:
        """Write a record, which must be the one that was read: a failover that has begun meanwhile has written another one."""
        term_record.swap(end.cluster, end.spec.namespace, end.spec.federation, former, term)
