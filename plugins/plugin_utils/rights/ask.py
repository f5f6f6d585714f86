# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rights that do not depend on what the roles render, and the question to an API server whether its caller has rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..kube import cluster_platform
from ..kube.client import Cluster
from ..spec.hub_spec import AddonSpec
from .need import CA, CLUSTER, FEDERATION, Need, Right, missing, rights
from .table import CONTROLLER, OCM, TABLE

_REQUEST = {"verb": "create", "group": cluster_platform.PROJECTS, "resource": "projectrequests"}


def places(part: str, namespace: str, ca_namespace: str) -> dict[str, str]:
    """Place -> its namespace."""
    found = {FEDERATION: namespace, CLUSTER: ""}
    return {**found, CA: ca_namespace} if part == SUPERLINK else found


def rights_of_work(part: str, work: str, namespace: str, ca_namespace: str = "") -> dict[str, list[Right]]:
    """The same as C(grants.controller_rights) for one work whose rows are the same for every spec.

    Args:
        part: what is deployed there, C(superlink) or C(supernode).
        work: of C(WORKS).
        namespace: that of the part.
        ca_namespace: namespace of the CA keys, for the superlink.
    """
    return _single([need for need in TABLE[CONTROLLER, part] if need.work == work], places(part, namespace, ca_namespace))


def ocm_rights(namespace: str, spec: AddonSpec) -> dict[str, list[Right]]:
    """Namespace (empty: the whole cluster) -> rights that delivery through Open Cluster Management needs on its hub.

    Args:
        namespace: that of the federation.
    """
    return _single([need for need in OCM if need.when(spec)], {FEDERATION: namespace, CLUSTER: ""})


def _single(needs: Sequence[Need], where: Mapping[str, str]) -> dict[str, list[Right]]:
    """Namespace -> the single rights of some needs."""
    found: dict[str, list[Right]] = {}
    for need in needs:
        found.setdefault(where[need.place], []).extend(rights(need, where[need.place]))
    return found


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
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}}
        review = cluster.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body=body)
        # The answer may be incomplete, and it does not distinguish rights in the namespace from those on the whole cluster:
        # what it lacks and everything on the whole cluster is checked one by one.
        doubtful = missing(doubtful, review["status"].get("resourceRules") or [])
    checks = []
    for right in doubtful:
        resource, _slash, subresource = right.resource.partition("/")
        place = {"namespace": right.namespace, "name": right.name}
        checks.append({"verb": right.verb, "group": right.group, "resource": resource, "subresource": subresource, **place})
    return [right for right, allowed in zip(doubtful, cluster.access_review(checks)) if not allowed]
