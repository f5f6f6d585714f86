# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions of a hub and its standby have in common: the two ends, and the record of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..backup import copying, fencing, leadership
from ..backup.copying import End
from ..backup.leadership import FENCED, Term
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..kube.client import Cluster
from ..manifests import superlink
from ..marks import owners
from ..sites import namespaces
from ..sites.namespace_inspection import inspect_namespace
from ..spec.hub_spec import HubSpec
from ..state.hub_lease import Lease, Lost
from .cluster_action import ClusterAction
from .given_spec import given_spec

DESCRIBED: dict[str, dict[str, Any]] = {
    "spec": {"type": "dict", "required": True},
    "ca_namespace": {"type": "str", "required": True},
    "accept_volumes": {"type": "bool", "default": False},
    "wait_timeout": {"type": "int", "default": 300},
}


class StandbyAction(ClusterAction):
    """An action on a hub, or on two."""

    def own(self, params: Mapping[str, Any], cluster: Cluster) -> End:
        """The end of this host."""
        return self._end(self.inventory_host, cluster, given_spec(self, params["spec"]), params["ca_namespace"])

    @contextmanager
    def other(self, host: str, described: Mapping[str, Any], *, timeout: float = 0) -> Iterator[End]:
        """The end of another host, as that one described it.

        Raises:
            ClusterError: it was not described.
        """
        with self.connect(host, timeout=timeout) as cluster:
            self._site = self.inventory_host
            yield self.described(host, cluster, described)

    def described(self, host: str, cluster: Cluster, facts: Mapping[str, Any]) -> End:
        """The end of another host.

        Args:
            host: its inventory name.
            cluster: a connection.
            facts: its variable C(superlink_described).

        Raises:
            ClusterError: it was not described.
        """
        if not facts:
            raise ClusterError(f"{host}: its variables were not read. Does --limit leave it out? Run the playbook without --limit.")
        return self._end(host, cluster, HubSpec.parse(dict(facts["spec"])), facts["ca_namespace"])

    @staticmethod
    def _end(host: str, cluster: Cluster, spec: HubSpec, given: str) -> End:
        return End(host, cluster, spec, namespaces.resolve_ca_namespace(cluster, spec.namespace, given))

    @staticmethod
    def copy_faults(
        params: Mapping[str, Any], source: End, target: End, own: Term | None, there: Term | None
    ) -> tuple[list[str], str]:
        """Why a hub is not copied to a standby, sentences; and the uid of the hub's volume claim, for the records. Nothing is changed.

        Args:
            params: options of the task.
            source: the hub.
            target: the standby.
            own: the record of the hub.
            there: the record of the standby.
        """
        live = copying.claim_uid(source.cluster, source.spec.namespace)
        wrong = copying.faults(source, target, there)
        if not (wrong or params["accept_volumes"]):
            known = leadership.recorded_claim(source.host, there, own)
            wrong = list(filter(None, [leadership.volume_error(source.host, target.host, known, live, there)]))
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
        spec = end.spec
        marked = leadership.store(end.cluster, spec.namespace, spec.federation, Term(FENCED, number, serves))
        if marked:
            self.note(end.host, words=[f"fenced in term {number}, in which {serves} serves"])
        stopped = fencing.stop(end.cluster, spec.namespace, spec.federation)
        if stopped:
            self.note(end.host, words=["stopped " + ", ".join(f"{one['kind']} {one['name']}" for one in stopped)])
        fencing.await_stopped(end.cluster, spec.namespace, spec.federation, seconds, self.say)
        return marked or bool(stopped)
