# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask an API server whether its caller has rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.errors import ClusterError
from ..kube import cluster_platform
from ..kube.client import Cluster
from .need import Right
from .rules import missing

_REQUEST = {"verb": "create", "group": cluster_platform.PROJECTS, "resource": "projectrequests"}


class MissingRights(ClusterError):
    """The identity lacks rights; the text has them, and the remedy."""


def require(cluster: Cluster, needed: Mapping[str, Sequence[Right]]) -> None:
    """Refuse to continue without all of these rights.

    Args:
        cluster: a connection.
        needed: namespace (empty: the whole cluster) -> rights.

    Raises:
        MissingRights: with every missing right.
    """
    lacking = [right for namespace, rights in needed.items() for right in lacks(cluster, namespace, rights)]
    absent = [right.name for right in lacking if (right.verb, right.resource) == ("create", "namespaces")]
    if absent and all(cluster.access_review([_REQUEST])):
        # Rights in them come with the projects.
        raise MissingRights(
            f"the identity used for {cluster.name} may create no namespaces ({', '.join(absent)}), but it may request projects: the playbook "
            "federated.flower.openshift_projects does that. Run it, then run again."
        )
    if lacking:
        raise MissingRights(
            f"the identity used for {cluster.name} may not: {'; '.join(map(str, lacking))}. "
            "Ask the cluster's administrators for these rights (the playbook federated.flower.rbac writes them down), "
            "or use another identity (flower_kubeconfig, flower_context)."
        )


def lacks(cluster: Cluster, namespace: str, rights: Sequence[Right]) -> list[Right]:
    """The rights that are missing in one namespace (empty: on the whole cluster), in few requests."""
    doubtful = list(rights)
    if namespace and doubtful:
        review = cluster.request(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            body={
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectRulesReview",
                "spec": {"namespace": namespace},
            },
        )
        # The answer may be incomplete, and it does not distinguish rights in the namespace from those on the whole cluster:
        # what it lacks and everything on the whole cluster is checked one by one.
        doubtful = missing(doubtful, review["status"].get("resourceRules") or [])
    checks = [
        {
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource.partition("/")[0],
            "subresource": right.resource.partition("/")[2],
            "namespace": right.namespace,
            "name": right.name,
        }
        for right in doubtful
    ]
    return [right for right, allowed in zip(doubtful, cluster.access_review(checks)) if not allowed]
