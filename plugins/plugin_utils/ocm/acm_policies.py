# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies of Advanced Cluster Management: the security baseline of sites, and the metrics of the hub's cluster. Pure.

Each Policy is in the federation's namespace on the hub, with a PlacementBinding. That of the baseline is bound to the add-on's Placement, so
that exactly the clusters with SuperNodes are checked; that of the metrics to a Placement of its own, which selects the hub's cluster by labels.

In the Policy, each a ConfigurationPolicy on the cluster, of the baseline:

    -namespace    the namespace has its Pod Security level
    -network      every pod in it is isolated, and so are the SuperNodes except for the connections that the site's own policy allows
    -pods         no pod is privileged, or shares the namespaces of its node
    -rights       no subject has a role in it that extends beyond it

and of the metrics:

    -rules         PodMonitor and PrometheusRule are there as they are deployed
    -allow-list    the list of metrics that the collector sends on; with C(metrics.acm)

The baseline covers what all sites have in common, with any settings: C(musthave) compares what is listed, and ignores what else
an object has (config-policy-controller, C(controllers/configurationpolicy_utils.go)). What it finds is what the collection sets
itself, so C(enforce) changes nothing where sites were deployed. The last two only report: to enforce that something is not
there would delete it, a pod that trains among them. That is why the Policy itself has no remediationAction, which would be that
of all parts.

The objects of the metrics are those that the deployment renders, without what changes with a release of Flower. They keep the labels that say
whose they are: where C(enforce) creates one again, the next deployment takes it for its own.

Go templates in policies are C({{ }}) and C({{hub hub}}); texts of alerts contain those of Prometheus. Both engines are configured
to leave the policy alone (annotation C(disable-templates), read by governance-policy-propagator of the Policy and by
config-policy-controller of each part).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..base.labels import own_pods
from ..base.object_names import SUPERNODE
from ..base.values import Object
from ..manifests import common_objects, metrics_exporter, network_policies
from ..spec.hub_spec import AddonSpec, HubSpec
from . import api
from .addon_objects import addon_labels

GROUP = "policy.open-cluster-management.io"
API = f"{GROUP}/v1"
INFORM, ENFORCE = "inform", "enforce"
REMEDIATIONS = (INFORM, ENFORCE)
# governance-policy-propagator, api/v1/policy_webhook.go: the replicated policy is called NAMESPACE.NAME.
MAX_NAMES = 62

_NO_TEMPLATES = {f"{GROUP}/disable-templates": "true"}
# How ACM's console files a policy.
_FILED = {
    f"{GROUP}/standards": "NIST SP 800-53",
    f"{GROUP}/categories": "CM Configuration Management",
    f"{GROUP}/controls": "CM-2 Baseline Configuration",
}
# ClusterRoles that, granted in one namespace, let pods leave it, or allow access to everything in it.
_FAR = (
    "cluster-admin",
    *(
        f"system:openshift:scc:{name}"
        for name in ("anyuid", "hostaccess", "hostmount-anyuid", "hostnetwork", "hostnetwork-v2", "privileged")
    ),
)

_VERSION = "app.kubernetes.io/version"


def baseline_policy_name(federation: str) -> str:
    """Name of the Policy, and prefix of the names of its parts."""
    return f"{federation}-baseline"


def policy(name: str, namespace: str, federation: str, parts: Sequence[Object], placement: str) -> list[Object]:
    """A Policy of C(parts), and its PlacementBinding to the C(placement) in the same namespace."""
    meta = {"name": name, "namespace": namespace, "labels": addon_labels(federation)}
    item = {
        "apiVersion": API,
        "kind": "Policy",
        "metadata": {**meta, "annotations": {**_FILED, **_NO_TEMPLATES}},
        "spec": {"disabled": False, "policy-templates": [{"objectDefinition": part} for part in parts]},
    }
    binding = {
        "apiVersion": API,
        "kind": "PlacementBinding",
        "metadata": meta,
        "placementRef": {"apiGroup": api.GROUP, "kind": "Placement", "name": placement},
        "subjects": [{"apiGroup": GROUP, "kind": "Policy", "name": name}],
    }
    return [item, binding]


def policy_part(name: str, severity: str, listed: Sequence[Object], remediation: str, *, present: bool = True) -> Object:
    """A ConfigurationPolicy: these objects are there, or none of these is.

    Args:
        severity: how bad it is if not.
        remediation: C(INFORM) or C(ENFORCE); only what has to be there is enforced.
        present: whether they have to be there.
    """
    compliance = "musthave" if present else "mustnothave"
    return {
        "apiVersion": API,
        "kind": "ConfigurationPolicy",
        "metadata": {"name": name, "annotations": dict(_NO_TEMPLATES)},
        "spec": {
            "severity": severity,
            "remediationAction": remediation if present else INFORM,
            "object-templates": [{"complianceType": compliance, "objectDefinition": item} for item in listed],
        },
    }


def _bare(item: Object) -> Object:
    """An object without what is a user's, or of no concern."""
    meta = item["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace") if meta.get(key)}
    level = {key: value for key, value in (meta.get("labels") or {}).items() if key.startswith("pod-security.kubernetes.io/")}
    return {**item, "metadata": {**kept, "labels": level} if level else kept}


def baseline_objects(spec: AddonSpec) -> list[Object]:
    """Policy and PlacementBinding, from an add-on's spec."""
    name, namespace = baseline_policy_name(spec.federation), spec.namespace
    levels = [item for item in map(_bare, common_objects.namespace_objects(spec)) if item["metadata"].get("labels")]
    # The rules of the SuperNodes' policy are the site's own.
    isolated = {"podSelector": {"matchLabels": own_pods(spec.federation, SUPERNODE)}, "policyTypes": ["Ingress", "Egress"]}
    own = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": SUPERNODE, "namespace": namespace}, "spec": isolated}
    privileged = [{"securityContext": {"privileged": True}}]
    shared = [{share: True} for share in ("hostNetwork", "hostPID", "hostIPC")]
    rbac = "rbac.authorization.k8s.io"
    parts: dict[str, tuple[list[Object], bool]] = {
        "namespace": (levels, True),
        "network": ([*map(_bare, network_policies.default_deny(spec, SUPERNODE)), own] if spec.network_policies else [], True),
        "pods": (
            [
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace}, "spec": one}
                for one in ({"containers": privileged}, {"initContainers": privileged}, *shared)
            ],
            False,
        ),
        "rights": (
            [
                {
                    "apiVersion": f"{rbac}/v1",
                    "kind": "RoleBinding",
                    "metadata": {"namespace": namespace},
                    "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
                }
                for role in _FAR
            ],
            False,
        ),
    }
    found = [
        policy_part(f"{name}-{part}", "high", listed, spec.policy_remediation, present=present) for part, (listed, present) in parts.items() if listed
    ]
    return policy(name, namespace, spec.federation, found, spec.placement)


def metrics_policy_name(federation: str) -> str:
    """Name of the Policy and the Placement, and prefix of the names of its parts."""
    return f"{federation}-metrics"


def metrics_objects(spec: HubSpec, deployed: Iterable[Object], remediation: str, labels: Mapping[str, str]) -> list[Object]:
    """Placement, Policy and PlacementBinding.

    Args:
        spec: of the hub; its metrics have C(monitor).
        deployed: the hub's objects.
        remediation: C(INFORM) or C(ENFORCE).
        labels: of the ManagedCluster that has the hub.
    """
    name = metrics_policy_name(spec.federation)
    found: dict[str, list[Object]] = {"rules": [], "allow-list": []}
    for item in deployed:
        if (item["apiVersion"], item["metadata"]["name"]) == (metrics_exporter.OPERATOR, metrics_exporter.NAME):
            found["rules"].append(_unversioned(item))
        elif item["metadata"]["name"] == metrics_exporter.ALLOWED:
            found["allow-list"].append(_unversioned(item))
    parts = [policy_part(f"{name}-{part}", "medium", listed, remediation) for part, listed in found.items() if listed]
    placement = {
        "apiVersion": api.PLACEMENTS,
        "kind": "Placement",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": addon_labels(spec.federation)},
        "spec": {
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": dict(labels)}}}],
            # A cluster that does not answer keeps the policy.
            "tolerations": [{"key": taint, "operator": "Exists"} for taint in (api.UNREACHABLE, api.UNAVAILABLE)],
        },
    }
    return [placement, *policy(name, spec.namespace, spec.federation, parts, name)]


def _unversioned(item: Object) -> Object:
    meta = item["metadata"]
    labels = {name: value for name, value in meta["labels"].items() if name != _VERSION}
    return {**item, "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}}
