# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.openshift_project): request the projects of a hub or site."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.platforms import OPENSHIFT
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NEEDS_LEASE = False

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Request what is missing. In check mode nothing is sent: OpenShift has no dry run of a request."""
        federation, names = params["federation"], self._names(params)
        if not names:
            return _unchanged("no project to request: the namespace is created by others, or together with the objects of this site")
        with self.connect() as cluster:
            if cluster_platform.known(cluster, params["platform"]) != OPENSHIFT:
                return _unchanged(f"{cluster.name} is not OpenShift: its namespaces are not projects")
            if not namespaces.needed(cluster):
                return _unchanged(f"this identity may create namespaces on {cluster.name}, or cannot request projects: no project to request")
            requested = []
            for name in namespaces.missing(cluster, names, federation):
                if self.check:
                    requested.append(name)
                elif namespaces.request_project(cluster, name, federation, params["wait_timeout"]):
                    requested.append(name)
                    self.note(words=[f"requested project {name}"])
        if not requested:
            return _unchanged("all projects are there")
        return {"changed": True, "projects": requested, "msg": f"{'to request' if self.check else 'requested'}: {', '.join(requested)}"}

    def _names(self, params: dict[str, Any]) -> list[str]:
        """The namespaces, without those of a site that is reached in another way than through its own API server."""
        at_site = params["site_names"]
        if at_site and not DELIVERIES[self.access_of().delivery].own_access:
            at_site = []
        return list(dict.fromkeys([*params["names"], *at_site]))


def _unchanged(msg: str) -> dict[str, Any]:
    return {"changed": False, "projects": [], "msg": msg}
