# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy a hub to its standby, once or for as long as it is followed; and what that has in common with a failover."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants

from ..backup import hub_pair, leadership_plans
from ..backup.hub_pair import End
from ..backup.leadership import ACTIVE, FENCED, STANDBY, Term
from ..backup.leadership_plans import CopyPlan
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..kube.client import Cluster
from ..manifests import outputs, superlink
from ..marks import owners
from ..sites import namespaces
from ..sites.namespace_inspection import inspect_namespace
from ..spec.hub_spec import HubSpec
from ..state import lease_object
from ..state.hub_lease import Lease, Lost
from .cluster_action import ClusterAction
from .given_spec import given_spec
from .run_facts import run_facts

_LEASE = 60  # seconds to wait for another playbook
_STEP = 5.0  # seconds after which the end of the playbook is noticed


class StandbyAction(ClusterAction):
    """An action on a hub and its standby.

    C(params) has, of this host and of the other one, what C(roles/superlink/tasks/describe.yml) assembles: C(spec) and C(ca_namespace).
    """

    def own(self, params: Mapping[str, Any], cluster: Cluster) -> End:
        """The end of this host."""
        return self._end(self.inventory_host, cluster, given_spec(self, params["spec"]), params["ca_namespace"])

    @contextmanager
    def other(self, params: Mapping[str, Any], *, timeout: float = 0) -> Iterator[End]:
        """The end of the hub, as that one described it.

        Raises:
            ClusterError: it was not described.
        """
        with self.connect(params["hub"], timeout=timeout) as cluster:
            self._site = self.inventory_host
            yield self.described(params["hub"], cluster, params["hub_described"])

    def described(self, host: str, cluster: Cluster, facts: Mapping[str, Any]) -> End:
        """The end of another host, by its variable C(superlink_described).

        Raises:
            ClusterError: it was not described.
        """
        if not facts:
            raise ClusterError(f"{host}: its variables were not read, because --limit excludes it. Run the playbook without --limit.")
        return self._end(host, cluster, HubSpec.parse(dict(facts["spec"])), facts["ca_namespace"])

    @staticmethod
    def _end(host: str, cluster: Cluster, spec: HubSpec, given: str) -> End:
        return End(host, cluster, spec, namespaces.resolve_ca_namespace(cluster, spec.namespace, given))

    @staticmethod
    def copy_errors(params: Mapping[str, Any], source: End, target: End, own: Term | None, there: Term | None) -> tuple[list[str], str]:
        """Why a hub is not copied to a standby, sentences; and the uid of the hub's volume claim, for the records. Nothing is changed."""
        live = source.claim_uid
        wrong = hub_pair.errors(source, target, there)
        if not (wrong or params["accept_volumes"]):
            known = leadership_plans.recorded_claim(source.host, there, own)
            wrong = [*filter(None, [leadership_plans.volume_error(source.host, target.host, known, live, there)])]
        return wrong, live

    @staticmethod
    def refuse_foreign(standby: End) -> None:
        """Refuse a standby whose namespace has objects of someone else in place of those of its SuperLink."""
        spec = standby.spec
        inspect_namespace(
            standby.cluster,
            SUPERLINK,
            spec,
            lambda: superlink.objects(spec.complete()),
            standby.ca_namespace,
            owner=owners.deployment_notes(spec.federation),
        )

    def assure(self, standby: End) -> None:
        """That this run still has the lease of a standby, if it has taken one. What a copy writes would harm one that serves meanwhile."""
        spec, lease = standby.spec, self.lease
        if lease is not None and not Lease(standby.cluster, spec.namespace, spec.federation, lease.identity).renew():
            raise Lost(f"{standby.host}: the lease of {spec.federation} was deleted while this run held it, so this run changes nothing more")

    def fence(self, end: End, number: int, serves: str, seconds: float) -> bool:
        """Stop a hub, for which another one serves in the term C(number); whether anything was changed. The record comes first: from then on
        no playbook starts it again."""
        marked = end.store(Term(FENCED, number, serves))
        if marked:
            self.note(end.host, words=[f"fenced in term {number}, in which {serves} serves"])
        if stopped := hub_pair.stop(end):
            self.note(end.host, words=["stopped " + ", ".join(stopped)])
        hub_pair.await_stopped(end, seconds, self.say)
        return marked or bool(stopped)

    def copy_once(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """A hub that serves in an older term is fenced before anything else, also where nothing can be copied then."""
        there = target.term
        with self.other(params) as source:
            return self._copy(params, source, target, there)

    def check_standby(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Whether the standby may be written to. Where a hub has to be fenced first, the copy does that, and says what is wrong then."""
        there = target.term
        with self.other(params) as source:
            own = source.term
            plan = leadership_plans.copy_plan(source.host, target.host, own, there)
            wrong = [plan.fault] if plan.fault else self.copy_errors(params, source, target, own, there)[0]
        if wrong and not plan.fence:
            raise ClusterError("; ".join(wrong) + ". Nothing was changed.")
        if not wrong:
            self.refuse_foreign(target)
        return {"changed": False, "ready": not wrong, "msg": "; ".join(wrong) or f"{target.host} can be the standby of {source.host}"}

    def leave(self, params: dict[str, Any], target: End) -> dict[str, Any]:
        """Whether this host may be removed; its hub forgets it."""
        there = target.term
        if there is not None and there.state == ACTIVE:
            raise ClusterError(
                f"it serves in term {there.number}, so it is not removed as a standby. Exchange the hosts of the groups flower_hub and "
                "flower_standby in the inventory"
            )
        removable = there is not None
        with self.other(params) as source:
            own = source.term
            if removable and not params["delete_volumes"] and target.get("PersistentVolumeClaim", outputs.CLAIM) is not None:
                raise ClusterError(
                    f"{target.host}: the volume claim {target.spec.namespace}/{outputs.CLAIM} would be deleted, which may contain outputs of runs that "
                    f"{source.host} does not have. Save the outputs that you need. To delete it: -e flower_delete_volumes=true. Nothing was changed."
                )
            knows = own is not None and own.state == ACTIVE and bool(own.standby)
            if own is not None and knows and not self.check:
                source.store(Term(ACTIVE, own.number, own.serves))
        words = f"{'would remove' if self.check else 'removes'} the standby"
        if not removable:
            words = "no record of a standby exists. If the record of a copy was lost, run federated.flower.standby first, which recreates it"
        return {"changed": removable or knows, "removable": removable, "msg": words}

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
                there = target.term
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
            raise ClusterError(f"{params['hub']} was not followed until the end: {fault} Its changes after {copied or 'the last copy'} were not copied.")
        why = serving or "the time was over" + (f"; the last copy is of {copied}" if copied else "")
        return {"changed": copies > 0, "copies": copies, "copied": copied, "msg": f"followed {params['hub']} and created {copies} copies, until {why}"}

    @staticmethod
    def _wait(until: float, pid: int) -> bool:
        """Wait until a time of the monotonic clock; whether the playbook still runs. One that is killed leaves this fork behind."""
        while os.getppid() == pid and (left := until - time.monotonic()) > 0:
            time.sleep(min(_STEP, left))
        return os.getppid() == pid

    def _copy_again(self, params: dict[str, Any], target: End, facts: dict[str, Any]) -> dict[str, Any]:
        """A copy under the lease, which a failover can take between two of them. It neither fences nor begins to copy a hub."""
        folder, spec = Path(constants.DEFAULT_LOCAL_TMP), target.spec
        with self.other(params) as source, self.connect() as own:
            lease = Lease(own, spec.namespace, spec.federation, lease_object.identity(facts, folder.name))
            if lease.take(_LEASE, self.say) is None:
                raise ClusterError(f"{target.host}: its namespace {spec.namespace} is gone. Run federated.flower.standby.")
            self.lease = lease
            try:
                with lease.kept():
                    mine, there = source.term, target.term
                    plan = leadership_plans.copy_plan(source.host, target.host, mine, there)
                    if plan.fault or plan.fence or there is None or mine is None:
                        why = plan.fault or (f"{plan.fence} is to be fenced" if plan.fence else "one of the two has no record of that")
                        raise ClusterError(f"{why}. Run federated.flower.standby.")
                    return self._copy(params, source, target, there)
            finally:
                lease.give_back()
                self.lease = None

    def _copy(self, params: dict[str, Any], source: End, target: End, there: Term | None) -> dict[str, Any]:
        own = source.term
        plan = leadership_plans.copy_plan(source.host, target.host, own, there)
        fenced = self._fence_first(params, plan, source, target, there)
        wrong, claim = [plan.fault], ""
        if not plan.fault:
            wrong, claim = self.copy_errors(params, source, target, own, there)
        if wrong:
            raise ClusterError("; ".join(wrong) + (f". Nothing was copied{fenced}." if fenced else ""))
        self.refuse_foreign(target)
        if self.check:
            return {"changed": True, "msg": f"would copy {source.host} to {target.host} in term {plan.number}{fenced}"}
        former = there.copied if there and there.state == STANDBY else ""
        begun = Term(ACTIVE, plan.number, source.host, target.host, former, hub_claim=claim)
        if fenced:
            own = source.term
            there = target.term
        source.swap(own, begun)
        if there is None:  # a copy that is not completed can be removed as well
            first = Term(STANDBY, plan.number, source.host, target.host)
            target.swap(there, first)
            there = first
        done = hub_pair.copy(source, target, stopped=False, seconds=params["wait_timeout"], assure=lambda: self.assure(target))
        complete = Term(STANDBY, plan.number, source.host, target.host, done.copied, done.claim, claim)
        target.swap(there, complete)
        source.swap(begun, replace(begun, copied=done.copied))
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

    def _fence_first(self, params: dict[str, Any], plan: CopyPlan, source: End, target: End, there: Term | None) -> str:
        """Fence the host that the plan names, and a standby whose SuperLink someone started; what was done, as the end of a sentence."""
        ends = {end.host: end for end in (source, target)}
        fenced, number = plan.fence, plan.number
        if not fenced and there is not None and there.state != ACTIVE and target.serves:
            fenced = target.host
        if not fenced:
            return ""
        (serves,) = set(ends) - {fenced}
        if not self.check:
            end = ends[fenced]
            self.fence(end, number, serves, params["wait_timeout"])
            if again := hub_pair.restarters(end):
                raise ClusterError(f"{fenced} is stopped. But {'; '.join(again)}. Nothing was copied.")
        return f", after {fenced} {'would be' if self.check else 'was'} fenced"
