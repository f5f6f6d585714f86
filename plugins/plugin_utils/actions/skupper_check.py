# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Can a cluster take part in the Skupper network?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.problems import require
from ..checks.skupper_rules import network_problems
from ..kube.client import Cluster
from ..skupper import cluster_state, site_plan, skupper_requirements, state
from ..skupper.skupper_requirements import version_fault
from ..spec.network_spec import (
    LinkSpec,
    ListenerSpec,
    NetworkSiteSpec,
)
from .role_options import role_spec
from .skupper_action import SkupperAction


class CheckAction(SkupperAction):
    """An action that checks the variables of all three roles, and the cluster."""

    def check_site(self, site: Mapping[str, Any]) -> dict[str, Any]:
        """Check a Site with the listener and the link that the other two roles make of their variables; the hub has no link."""
        place = {name: site[name] for name in ("federation", "namespace")}
        link = {} if self.at_hub else role_spec(self, "skupper_link") | place
        return self.check_parts(site, role_spec(self, "skupper_listener") | place, link)

    def check_parts(self, site: Mapping[str, Any], listener: Mapping[str, Any], link: Mapping[str, Any]) -> dict[str, Any]:
        """Check the variables, then the cluster.

        Raises:
            ClusterError: all that is wrong with the variables, or why the cluster cannot take part.
        """
        require(network_problems(site, listener, link))
        with self.reach() as cluster:
            wanted = NetworkSiteSpec.parse(site)
            live = cluster.get("v1", "Namespace", wanted.namespace)
            going = live is not None and bool(live["metadata"].get("deletionTimestamp"))
            self._check_place(cluster, wanted, live, going=going)
            self.refuse([cluster_state.fault(cluster, wanted)])
            if wanted.install == "none" or self.is_served(cluster):
                self.require_kinds(cluster)
                if live is not None and not going:
                    self._check(cluster, wanted, ListenerSpec.parse(listener), live)
                    self.require_proxy(cluster, LinkSpec.parse(link))
        return self.finished(f"{cluster.name} can take part in the Skupper network")

    def _check_place(
        self, cluster: Cluster, site: NetworkSiteSpec, live: Mapping[str, Any] | None, *, going: bool
    ) -> None:
        """Stop where the namespace is that of the other end of the network."""
        namespace = site.namespace
        if live is not None and not going:
            own = site_plan.has_own(site, cluster_state.listed(cluster, "Site", namespace))
            self.refuse_other_end(cluster, namespace, hub=site.hub, own=own)

    def _check(self, cluster: Cluster, site: NetworkSiteSpec, listener: ListenerSpec, live: Mapping[str, Any]) -> None:
        namespace = site.namespace
        found = cluster_state.listed(cluster, "Site", namespace)
        plan = site_plan.decide_site(site, found)
        faults = [plan.fault]
        served = site_plan.active(found)
        wrong = version_fault((state.status(served).get("controller") or {}).get("version"))
        faults.append(wrong and f"the controller that serves namespace {namespace} of {cluster.name} {wrong}")
        if site.hub:
            ends = site_plan.decide_connector(listener, cluster_state.listed(cluster, "Connector", namespace))
        else:
            service = cluster.get("v1", "Service", listener.host, namespace)
            ends = site_plan.decide_listener(listener, cluster_state.listed(cluster, "Listener", namespace), service)
        faults.append(ends.fault)
        running = served is not None and state.is_true(served, "Running")
        word = skupper_requirements.foresee(site, live, running=running)
        self.warn(f"{cluster.name}: {word}." if word else "")
        reported = [fault for fault in faults if fault]
        if reported:
            raise ClusterError(f"{'; '.join(reported)}.")
