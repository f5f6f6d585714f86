# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions of a hub and its standby have in common: the two ends, and the record of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible import constants

from ..kube.client import Cluster
from ..lease import block
from ..ownership import ca_namespace
from ..spec.hub_spec import HubSpec
from ..standby import fencing, term_record
from ..standby.copying import End
from ..standby.terms import FENCED, Term
from .cluster_action import ClusterAction
from .given_spec import given_spec

DESCRIBED: dict[str, dict[str, Any]] = {
    "spec": {"type": "dict", "required": True},
    "ca_namespace": {"type": "str", "required": True},
    "outputs": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 300},
}


class StandbyAction(ClusterAction):
    """An action on a hub, or on two."""

    def own(self, params: Mapping[str, Any], cluster: Cluster) -> End:
        """The end of this host."""
        return self._end(self.inventory_host, cluster, given_spec(self, params["spec"]), params["ca_namespace"])

    @contextmanager
    def other(self, host: str, described: Mapping[str, Any], *, timeout: float = 30) -> Iterator[End]:
        """The end of another host, as that one described it."""
        spec = HubSpec.parse(dict(described["spec"]))
        with self.connect(host, timeout=timeout) as cluster:
            self._site = self.inventory_host
            yield self._end(host, cluster, spec, described["ca_namespace"])

    @staticmethod
    def _end(host: str, cluster: Cluster, spec: HubSpec, given: str) -> End:
        return End(host, cluster, spec, ca_namespace.resolve(cluster, spec.namespace, given))

    def assure(self, standby: End) -> None:
        """That this run still has the lease of a standby. What a copy writes would harm one that serves meanwhile."""
        spec = standby.spec
        block.assure(standby.cluster, spec.namespace, spec.federation, Path(constants.DEFAULT_LOCAL_TMP))

    def fence(self, end: End, number: int, serves: str, seconds: float) -> bool:
        """Stop a hub, for which another one serves in the term C(number); whether anything was changed. The record comes first: from then on
        no playbook starts it again."""
        spec = end.spec
        marked = term_record.store(end.cluster, spec.namespace, spec.federation, Term(FENCED, number, serves))
        if marked:
            self.note(end.host, words=[f"fenced in term {number}, in which {serves} serves"])
        stopped = fencing.stop(end.cluster, spec.namespace, spec.federation)
        if stopped:
            self.note(end.host, words=["stopped " + ", ".join(f"{one['kind']} {one['name']}" for one in stopped)])
        fencing.await_stopped(end.cluster, spec.namespace, spec.federation, seconds, self.say)
        return marked or bool(stopped)
