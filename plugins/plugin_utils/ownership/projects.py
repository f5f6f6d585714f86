# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Request projects of OpenShift, where an identity may create no Namespace.

The request carries the mark of the federation (C(marks/proof.py)): no one can set it later but in the description, and there is no moment
in which the project exists without it. OpenShift creates the Namespace and makes the requester its administrator.

Source: openshift/api, project/v1 (C(ProjectRequest)); OpenShift documentation, «Configuring project creation».
"""

from __future__ import annotations

from collections.abc import Sequence

from ..apply.wait import Waiter
from ..base.errors import ClusterError
from ..base.values import Object
from ..kube.api_errors import Conflict, Forbidden
from ..kube.client import Cluster
from ..kube.cluster_platform import PROJECT_API, PROJECTS, has_projects
from ..marks import proof

_TAKEN_SECONDS = 15.0  # until its requester can see a project, at the latest


def request_of(name: str, federation: str) -> Object:
    """What is sent to request a project. Pure."""
    return {
        "apiVersion": PROJECT_API,
        "kind": "ProjectRequest",
        "metadata": {"name": name},
        "description": proof.project_note(federation),
    }


def needed(cluster: Cluster) -> bool:
    """Whether namespaces have to be requested as projects: this identity may not create one."""
    may_create, may_request = cluster.access_review(
        [
            {"verb": "create", "resource": "namespaces"},
            {"verb": "create", "group": PROJECTS, "resource": "projectrequests"},
        ]
    )
    return may_request and not may_create


def missing(cluster: Cluster, names: Sequence[str], federation: str) -> list[str]:
    """The namespaces that are to be requested.

    Raises:
        ClusterError: one of them exists, and is not of this federation.
    """
    live = {name: _seen(cluster, name) for name in names}
    faults = [
        f"namespace {name} exists already and {proof.holder(one)}. Set flower_namespace (or flower_ca_namespace) to another name, or "
        "flower_create_namespace to false to deploy into it as it is."
        for name, one in live.items()
        if one is not None and not proof.belongs(one, federation)
    ]
    if faults:
        raise ClusterError(f"{cluster.name}: {' '.join(faults)}")
    return [name for name, one in live.items() if one is None]


def request(cluster: Cluster, name: str, federation: str, seconds: float) -> bool:
    """Request a project, and wait until this identity may work in it. Returns whether this request created it.

    Raises:
        ClusterError: it is refused, belongs to someone else, has no mark, or is not usable in time.
    """
    created = True
    try:
        cluster.request("POST", f"/apis/{PROJECT_API}/projectrequests", body=request_of(name, federation))
    except Conflict as error:
        # Another host of the same cluster, or another run, may have requested it a moment ago.
        if not Waiter(cluster, min(seconds, _TAKEN_SECONDS)).until(lambda: _seen(cluster, name) is not None):
            raise ClusterError(
                f"{cluster.name}: there is a project {name}, and this identity may not see it: {error.text}. Set flower_namespace (or "
                "flower_ca_namespace) to another name."
            ) from error
        missing(cluster, [name], federation)
        created = False
    last = ""

    def usable() -> bool:
        nonlocal last
        live = _seen(cluster, name)
        if live is None:
            last = "it cannot be read yet"
            return False
        if created and proof.project_of(live) != federation:
            raise ClusterError(
                f"{cluster.name}: project {name} was created without the description that was requested, so nothing proves for whom: the "
                "cluster's template for projects leaves it out. Set flower_create_namespace to false to deploy into it as it is; it is "
                "then never deleted by this collection."
            )
        last = "its requester may not create ConfigMaps in it yet"
        return all(cluster.access_review([{"verb": "create", "resource": "configmaps", "namespace": name}]))

    if not Waiter(cluster, seconds).until(usable):
        raise ClusterError(f"{cluster.name}: project {name} was requested, and is not usable after {seconds:g} s: {last}.")
    return created


def live(cluster: Cluster, name: str) -> Object | None:
    """The Namespace; where there are projects, one that this identity may not see counts as absent: the answer is the same."""
    try:
        return cluster.get("v1", "Namespace", name)
    except Forbidden:
        if has_projects(cluster):
            return None
        raise


def _seen(cluster: Cluster, name: str) -> Object | None:
    """The Namespace. To those who may only request projects, one that does not exist is forbidden."""
    try:
        return cluster.get("v1", "Namespace", name)
    except Forbidden:
        return None
