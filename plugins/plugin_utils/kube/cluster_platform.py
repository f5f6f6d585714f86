# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which platform a cluster is."""

from __future__ import annotations

from ..base.errors import ClusterError
from ..base.platforms import AUTO, of_groups
from .api_errors import ApiError, NotServed
from .client import Cluster

PROJECTS = "project.openshift.io"
PROJECT_API = f"{PROJECTS}/v1"


def find(cluster: Cluster) -> str:
    """The platform, by the API groups that the cluster serves.

    Raises:
        ClusterError: they may not be listed.
    """
    try:
        groups = cluster.request("GET", "/apis").get("groups") or []
    except ApiError as error:
        if 300 <= error.status < 400:
            raise ClusterError(
                f"{cluster.name}: what answers there is not an API server: it refers to another address (HTTP {error.status}), as portals and login pages "
                "do. Check the address of the API server (flower_kubeconfig, flower_context)."
            ) from None
        raise ClusterError(
            f"{cluster.name}: whether it is OpenShift cannot be found out: {error.text}. Set flower_platform to kubernetes or openshift."
        ) from None  # the message has all of it
    return of_groups(str(group.get("name")) for group in groups)


def known(cluster: Cluster, platform: str) -> str:
    """The platform that a variable names, else the one that is found."""
    return find(cluster) if platform in ("", AUTO) else platform


def has_projects(cluster: Cluster) -> bool:
    """Whether the cluster serves projects. There, a namespace that does not exist is forbidden to those who may only request one."""
    try:
        cluster.resource(PROJECT_API, "Project")
    except NotServed:
        return False
    return True
