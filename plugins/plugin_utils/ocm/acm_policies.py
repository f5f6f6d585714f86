# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies of Advanced Cluster Management: the security baseline of sites, and the metrics of the hub's cluster. Pure.

    Policy               the baseline, in the federation's namespace on the hub
    PlacementBinding     to the add-on's Placement, so that exactly the clusters with SuperNodes are checked

In the Policy, each a ConfigurationPolicy on the managed cluster:

    -namespace    the namespace has its Pod Security level
    -network      every pod in it is isolated, and so are the SuperNodes except for the connections that the site's own policy allows
    -pods         no pod is privileged, or shares the namespaces of its node
    -rights       no subject has a role in it that extends beyond it

It covers what all sites have in common, with any settings: C(musthave) compares what is listed, and ignores what else
an object has (config-policy-controller, C(controllers/configurationpolicy_utils.go)). What it finds is what the collection sets
itself, so C(enforce) changes nothing where sites were deployed. The last two only report: to enforce that something is not
there would delete it, a pod that trains among them. That is why the Policy itself has no remediationAction, which would be that
of all parts.

Go templates in policies are C({{ }}) and C({{hub hub}}). Nothing here contains a user's free text, and both engines are configured
to leave the policy alone (annotation C(disable-templates), read by governance-policy-propagator of the Policy and by
config-policy-controller of each part).

Keys of the add-on's spec beside those of ocm.py: C(policy_remediation), "inform" or "enforce"; C(network_policies), bool.

    Policy               in the federation's namespace on the hub of Advanced Cluster Management
    PlacementBinding     to the Placement below
    Placement            the hub's cluster, by labels

In the Policy, each a ConfigurationPolicy on the hub's cluster:

    -rules         PodMonitor and PrometheusRule are there as they are deployed
    -allow-list    the list of metrics that the collector sends on; with C(metrics.acm)

The objects are those that the deployment renders, without what changes with a release of Flower. They keep the labels that say whose they are:
where C(enforce) creates one again, the next deployment takes it for its own. Texts of alerts contain Go templates of Prometheus, C({{ }}),
which the engines of policies leave alone, see C(acm_policies.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.labels import own_pods
from ..base.object_names import SUPERNODE
from ..base.values import Object
from ..manifests import common_objects, metrics_exporter, network_policies, superlink
from ..spec.hub_spec import AddonSpec, HubSpec
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
_TAINTS = ("unreachable", "unavailable")


def baseline_policy_name(federation: str) -> str:
    """Name of the Policy, and prefix of the names of its parts."""
    return f"{federation}-baseline"


def baseline_objects(spec: AddonSpec) -> list[Object]:
    """Policy and PlacementBinding, from an add-on's spec."""
    parts = [part for part in (_namespace(spec), _network(spec), _pods(spec), _rights(spec)) if part]
    return policy(baseline_policy_name(spec.federation), spec.namespace, spec.federation, parts, spec.placement)


def policy(name: str, namespace: str, federation: str, parts: Sequence[Object], placement: str) -> list[Object]:
    """A Policy, and its PlacementBinding.

    Args:
        name: of both.
        namespace: of both, and of the Placement.
        federation: for the labels.
        parts: ConfigurationPolicies, see C(baseline_part).
        placement: name of the Placement that selects the clusters.
    """
    meta = {"name": name, "namespace": namespace, "labels": addon_labels(federation)}
    made = {
        "apiVersion": API,
        "kind": "Policy",
        "metadata": {**meta, "annotations": {**_FILED, **_NO_TEMPLATES}},
        "spec": {"disabled": False, "policy-templates": [{"objectDefinition": part} for part in parts]},
    }
    binding = {
        "apiVersion": API,
        "kind": "PlacementBinding",
        "metadata": meta,
        "placementRef": {"apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": placement},
        "subjects": [{"apiGroup": GROUP, "kind": "Policy", "name": name}],
    }
    return [made, binding]


def baseline_part(name: str, severity: str, listed: Sequence[Object], *, present: bool, remediation: str) -> Object:
    """A ConfigurationPolicy: these objects are there, or none of these is.

    Args:
        name: its name.
        severity: how bad it is if not.
        listed: the objects.
        present: whether they have to be there.
        remediation: C(INFORM) or C(ENFORCE); only what has to be there is enforced.
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


def _part(spec: AddonSpec, name: str, severity: str, listed: Sequence[Object], *, present: bool) -> Object:
    full = f"{baseline_policy_name(spec.federation)}-{name}"
    return baseline_part(full, severity, listed, present=present, remediation=spec.policy_remediation)


def _bare(item: Object) -> Object:
    """An object without what is a user's, or of no concern."""
    meta = item["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace") if meta.get(key)}
    level = {
        key: value for key, value in (meta.get("labels") or {}).items() if key.startswith("pod-security.kubernetes.io/")
    }
    return {**item, "metadata": {**kept, "labels": level} if level else kept}


def _namespace(spec: AddonSpec) -> Object | None:
    found = [_bare(item) for item in common_objects.namespace_objects(spec)]
    found = [item for item in found if item["metadata"].get("labels")]
    return _part(spec, "namespace", "high", found, present=True) if found else None


def _network(spec: AddonSpec) -> Object | None:
    if not spec.network_policies:
        return None
    closed = [_bare(item) for item in network_policies.default_deny(spec, SUPERNODE)]
    # Its rules are the site's own.
    own = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": SUPERNODE, "namespace": spec.namespace},
        "spec": {
            "podSelector": {"matchLabels": own_pods(spec.federation, SUPERNODE)},
            "policyTypes": ["Ingress", "Egress"],
        },
    }
    return _part(spec, "network", "high", [*closed, own], present=True)


def _pods(spec: AddonSpec) -> Object:
    privileged = [{"securityContext": {"privileged": True}}]
    wrong: list[Object] = [{"containers": privileged}, {"initContainers": privileged}]
    wrong += [{share: True} for share in ("hostNetwork", "hostPID", "hostIPC")]
    found = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": spec.namespace}, "spec": one} for one in wrong
    ]
    return _part(spec, "pods", "high", found, present=False)


def _rights(spec: AddonSpec) -> Object:
    found = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"namespace": spec.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        }
        for role in _FAR
    ]
    return _part(spec, "rights", "high", found, present=False)


def metrics_policy_name(federation: str) -> str:
    """Name of the Policy and the Placement, and prefix of the names of its parts."""
    return f"{federation}-metrics"


def metrics_objects(spec: HubSpec, remediation: str, labels: Mapping[str, str]) -> list[Object]:
    """Placement, Policy and PlacementBinding.

    Args:
        spec: of the hub; its metrics have C(monitor).
        remediation: C(INFORM) or C(ENFORCE).
        labels: of the ManagedCluster that has the hub.
    """
    name = metrics_policy_name(spec.federation)
    found: dict[str, list[Object]] = {"rules": [], "allow-list": []}
    for item in superlink.objects(spec.complete()):
        if (item["apiVersion"], item["metadata"]["name"]) == (metrics_exporter.OPERATOR, metrics_exporter.NAME):
            found["rules"].append(_lasting(item))
        elif item["metadata"]["name"] == metrics_exporter.ALLOWED:
            found["allow-list"].append(_lasting(item))
    parts = [
        baseline_part(f"{name}-{part}", "medium", listed, present=True, remediation=remediation) for part, listed in found.items() if listed
    ]
    placement = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": addon_labels(spec.federation)},
        "spec": {
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": dict(labels)}}}],
            # A cluster that does not answer keeps the policy.
            "tolerations": [{"key": f"cluster.open-cluster-management.io/{taint}", "operator": "Exists"} for taint in _TAINTS],
        },
    }
    return [placement, *policy(name, spec.namespace, spec.federation, parts, name)]


def _lasting(item: Object) -> Object:
    meta = item["metadata"]
    labels = {name: value for name, value in meta["labels"].items() if name != _VERSION}
    return {**item, "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}}
