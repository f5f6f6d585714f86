# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights that the collection needs in a cluster, and which of them are missing. Pure.

Source of the rules: Kubernetes, SelfSubjectRulesReview (authorization.k8s.io/v1): one request answers for a namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..manifests import certificate
from ..manifests.common import boolean

_OBJECT_VERBS = ("get", "list", "create", "patch", "delete")


@dataclass(frozen=True)
class Right:
    """One verb on one resource; C(group) is empty for the core API, C(name) empty for any."""

    verb: str
    group: str
    resource: str
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}"


def _objects(group: str, *resources: str, verbs: Sequence[str] = _OBJECT_VERBS) -> list[Right]:
    return [Right(verb, group, resource) for resource in resources for verb in verbs]


def hub_rights(spec: Mapping[str, Any], ca_namespace: str) -> dict[str, list[Right]]:
    """Namespace -> rights that deploying a SuperLink takes; the key C("") holds those on the whole cluster."""
    rights = _objects("", "configmaps", "secrets", "services", "serviceaccounts")
    rights += _objects("apps", "statefulsets", "deployments") + _objects("policy", "poddisruptionbudgets")
    # An exec over a websocket is a GET; newer API servers ask for "create" beside it.
    rights += [Right("update", "", "configmaps"), *_objects("", "pods/exec", verbs=("get", "create"))]
    # A new annotation on a pod makes its kubelet bring a new certificate at once.
    rights += [*_objects("", "pods", "events", verbs=("get", "list")), Right("patch", "", "pods")]
    wide = _namespaces(spec)
    if spec.get("certificates_source") == "cert_manager":
        rights += _objects(certificate.GROUP, "certificates")
        rights += _objects(certificate.GROUP, "certificaterequests", verbs=("list",))
        issuer = certificate.issuer_ref(spec)
        if issuer["group"] == certificate.GROUP:
            of_issuer = _objects(issuer["group"], f"{issuer['kind'].lower()}s", verbs=("get", "list"))
            if issuer["kind"] == "ClusterIssuer":
                wide += [Right(right.verb, right.group, right.resource, namespaced=False) for right in of_issuer]
            else:
                rights += of_issuer
    if spec["exposure"] == "ingress":
        rights += _objects("networking.k8s.io", "ingresses")
    if spec["exposure"] == "route":
        rights += _objects("route.openshift.io", "routes")
    if spec["exposure"] == "node_port" and not spec.get("superlink_address"):
        wide.append(Right("list", "", "nodes", namespaced=False))
    rights += _policies(spec)
    ca_rights = _objects("", "secrets", verbs=("get", "list", "create", "patch"))
    if boolean(spec.get("create_namespace", True)):
        ca_rights += _policies(spec, verbs=("get", "create", "patch"))
    return {spec["namespace"]: rights, ca_namespace: ca_rights, "": wide}


def site_rights(spec: Mapping[str, Any], needs_nodes: bool) -> dict[str, list[Right]]:
    """Namespace -> rights that deploying SuperNodes takes; the key C("") holds those on the whole cluster."""
    rights = _objects("", "configmaps", "secrets", "services", "serviceaccounts")
    rights += _objects("apps", "statefulsets", "daemonsets") + _objects("policy", "poddisruptionbudgets")
    rights += _objects("", "pods", "events", verbs=("get", "list")) + _objects("", "pods", verbs=("patch",))
    rights += _policies(spec)
    wide = _namespaces(spec)
    if needs_nodes:
        wide.append(Right("list", "", "nodes", namespaced=False))
    return {spec["namespace"]: rights, "": wide}


def _policies(spec: Mapping[str, Any], verbs: Sequence[str] = _OBJECT_VERBS) -> list[Right]:
    wanted = boolean(spec.get("network_policies", True))
    return _objects("networking.k8s.io", "networkpolicies", verbs=verbs) if wanted else []


def _namespaces(spec: Mapping[str, Any]) -> list[Right]:
    verbs = ("get", "create", "patch") if boolean(spec.get("create_namespace", True)) else ()
    return [Right(verb, "", "namespaces", namespaced=False) for verb in verbs]


def missing(rights: Sequence[Right], rules: Sequence[Mapping[str, Any]]) -> list[Right]:
    """The rights that no rule gives.

    Args:
        rights: what is needed.
        rules: C(status.resourceRules) of a SelfSubjectRulesReview. Rules limited to names count as no right.
    """
    return [right for right in rights if not any(_covers(rule, right) for rule in rules)]


def _covers(rule: Mapping[str, Any], right: Right) -> bool:
    if rule.get("resourceNames"):
        return False
    resources = rule.get("resources") or []
    subresource = right.resource.partition("/")[2]
    return (
        _has(rule.get("verbs"), right.verb)
        and _has(rule.get("apiGroups"), right.group)
        and (_has(resources, right.resource) or bool(subresource and f"*/{subresource}" in resources))
    )


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)
