# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Advanced Cluster Management needs to observe a federation, as a policy for the cluster of its hub. Pure.

    Policy               in the federation's namespace on the hub of Advanced Cluster Management
    PlacementBinding     to the Placement below
    Placement            the hub's cluster, by labels

In the Policy, each a ConfigurationPolicy on the hub's cluster:

    -rules         PodMonitor and PrometheusRule are there as they are deployed
    -allow-list    the list of metrics that the collector sends on; with C(metrics.acm)

The objects are those that the deployment renders, without what changes with a release of Flower. They keep the labels that say whose they are:
where C(enforce) creates one again, the next deployment takes it for its own. Texts of alerts contain Go templates of Prometheus, C({{ }}),
which the engines of policies leave alone, see C(acm.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..base.values import Object
from ..manifests import metrics_exporter, superlink
from ..spec.hub_spec import HubSpec
from . import acm
from .addon_objects import addon_labels

_VERSION = "app.kubernetes.io/version"
_TAINTS = ("unreachable", "unavailable")


def policy_name(federation: str) -> str:
    """Name of the Policy and the Placement, and prefix of the names of its parts."""
    return f"{federation}-metrics"


def objects(spec: HubSpec, remediation: str, labels: Mapping[str, str]) -> list[Object]:
    """Placement, Policy and PlacementBinding.

    Args:
        spec: of the hub; its metrics have C(monitor).
        remediation: C(acm.INFORM) or C(acm.ENFORCE).
        labels: of the ManagedCluster that has the hub.
    """
    name = policy_name(spec.federation)
    found: dict[str, list[Object]] = {"rules": [], "allow-list": []}
    for item in superlink.objects(spec.complete()):
        if (item["apiVersion"], item["metadata"]["name"]) == (metrics_exporter.OPERATOR, metrics_exporter.NAME):
            found["rules"].append(_lasting(item))
        elif item["metadata"]["name"] == metrics_exporter.ALLOWED:
            found["allow-list"].append(_lasting(item))
    parts = [
        acm.part(f"{name}-{part}", "medium", listed, present=True, remediation=remediation) for part, listed in found.items() if listed
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
    return [placement, *acm.policy(name, spec.namespace, spec.federation, parts, name)]


def _lasting(item: Object) -> Object:
    meta = item["metadata"]
    labels = {name: value for name, value in meta["labels"].items() if name != _VERSION}
    return {**item, "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}}
