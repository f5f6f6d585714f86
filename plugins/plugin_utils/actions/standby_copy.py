# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy a hub to its standby, once or for as long as it is followed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants

from ..backup import copying, fencing, leadership
from ..backup.copying import End
from ..backup.leadership import ACTIVE, STANDBY, Term
from ..base.errors import ClusterError
from ..manifests import outputs
from ..state import lease_object
from ..state.hub_lease import Lease
from .run_facts import run_facts
from .standby_action import StandbyAction

_CLAIM = "PersistentVolumeClaim"
_LEASE = 60  # seconds to wait for another playbook
_STEP = 5.0  # seconds after which the end of the playbook is noticed


class StandbyCopy(StandbyAction):
    """An action that copies a hub to its standby."""

    def copy_once(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """A hub that serves in an older term is fenced before anything else, also where nothing can be copied then."""
        there = leadership.read(target.cluster, target.spec.namespace)
        with self.other(params["hub"], params["hub_described"]) as source:
            return self._copy(params, source, target, there)

    def check_standby(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Whether the standby may be written to. Where a hub has to be fenced first, the copy does that, and says what is wrong then."""
        there = leadership.read(target.cluster, target.spec.namespace)
        with self.other(params["hub"], params["hub_described"]) as source:
            own = leadership.read(source.cluster, source.spec.namespace)
            plan = leadership.copy_plan(source.host, target.host, own, there)
            wrong = [plan.fault] if plan.fault else self.copy_faults(params, source, target, own, there)[0]
        if wrong and not plan.fence:
            raise ClusterError("; ".join(wrong) + ". Nothing was changed.")
        if not wrong:
            self.refuse_foreign(target)
        return {"changed": False, "ready": not wrong, "msg": "; ".join(wrong) or f"{target.host} can be the standby of {source.host}"}

    def leave(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Whether this host may be removed; its hub forgets it."""
        there = leadership.read(target.cluster, target.spec.namespace)
        if there is not None and there.state == ACTIVE:
            raise ClusterError(
                f"it serves in term {there.number}, so it is not removed as a standby. Exchange the hosts of the groups flower_hub and "
                "flower_standby in the inventory"
            )
        with self.other(params["hub"], params["hub_described"]) as source:
            removable = there is not None or copying.is_copy(source, target)
            own = leadership.read(source.cluster, source.spec.namespace)
            if removable and not params["delete_volumes"] and target.cluster.get("v1", _CLAIM, outputs.CLAIM, target.spec.namespace) is not None:
                raise ClusterError(
                    f"{target.host}: the volume claim {target.spec.namespace}/{outputs.CLAIM} would be deleted, which may have outputs of runs that "
                    f"{source.host} does not have. Save what you need. To delete it: -e flower_delete_volumes=true. Nothing was changed."
                )
            knows = own is not None and own.state == ACTIVE and bool(own.standby)
            if own is not None and knows and not self.check:
                spec, forgotten = source.spec, Term(ACTIVE, own.number, own.serves)
                leadership.store(source.cluster, spec.namespace, spec.federation, forgotten)
        words = f"{'would remove' if self.check else 'removes'} the standby"
        if not removable:
            words = f"there is no standby: no record says so, and the namespace {target.spec.namespace} has no copy of {params['hub']}"
        return {"changed": removable or knows, "removable": removable, "msg": words}

    # ---- followed ----------------------------------------------------------------------------------------------------

    def follow(self, params: dict[str, Any], target: End) -> dict[str, Any]:
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
                there = leadership.read(target.cluster, target.spec.namespace)
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
            with self._held(lease):
                there = leadership.read(target.cluster, spec.namespace)
                mine = leadership.read(source.cluster, source.spec.namespace)
                plan = leadership.copy_plan(source.host, target.host, mine, there)
                if plan.fault or plan.fence or there is None or mine is None:
                    why = plan.fault or (f"{plan.fence} is to be fenced" if plan.fence else "one of the two has no record of that")
                    raise ClusterError(f"{why}. Run federated.flower.standby.")
                return self._copy(params, source, target, there)

    @contextmanager
    def _held(self, lease: Lease) -> Iterator[None]:
        self.lease = lease
        try:
            with lease.kept():
                yield
        finally:
            lease.give_back()
            self.lease = None

    def _copy(self, params: dict[str, Any], source: End, target: End, there: Term | None) -> dict[str, Any]:
        own = leadership.read(source.cluster, source.spec.namespace)
        plan = leadership.copy_plan(source.host, target.host, own, there)
        fenced = self._fence_first(params, plan, source, target, there)
        wrong, claim = [plan.fault], ""
        if not plan.fault:
            wrong, claim = self.copy_faults(params, source, target, own, there)
        if wrong:
            raise ClusterError("; ".join(wrong) + (f". Nothing was copied{fenced}." if fenced else ""))
        self.refuse_foreign(target)
        if self.check:
            return {"changed": True, "msg": f"would copy {source.host} to {target.host} in term {plan.number}{fenced}"}
        former = there.copied if there and there.state == STANDBY else ""
        begun = Term(ACTIVE, plan.number, source.host, target.host, former, hub_claim=claim)
        if fenced:
            own = leadership.read(source.cluster, source.spec.namespace)
            there = leadership.read(target.cluster, target.spec.namespace)
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

    def _fence_first(self, params: dict[str, Any], plan: leadership.CopyPlan, source: End, target: End, there: Term | None) -> str:
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
        leadership.swap(end.cluster, end.spec.namespace, end.spec.federation, former, term)
