# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What differs between Kubernetes and OpenShift, as values of variables. Pure.

A variable with the value C(auto), or a list of peers that is the roles' default, is left to the platform. What a user sets stays.

Sources: OpenShift documentation, «Managing security context constraints» (restricted-v2: user, fsGroup and SELinux labels come from the
namespace's ranges, and every other one is refused), «DNS Operator» (pods of DaemonSet dns-default, port 5353), «Enabling monitoring for
user-defined projects» (its Prometheus is in openshift-user-workload-monitoring; the label openshift.io/cluster-monitoring is for
OpenShift's own components).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .values import text

AUTO, KUBERNETES, OPENSHIFT = PLATFORMS = ("auto", "kubernetes", "openshift")

# All of them: Routes, or any other of these kinds, may be a CustomResourceDefinition that someone installed in another cluster.
_GROUPS = frozenset(("route.openshift.io", "security.openshift.io"))

USER = 49999  # of Flower's images
KUBE_DNS: list[dict[str, Any]] = [
    {"namespace": "kube-system", "pod_selector": {"k8s-app": "kube-dns"}, "ports": ["53/UDP", "53/TCP"]}
]
# Caches on the nodes, which answer pods where there are any: kubespray, and GKE unless it is switched off. They listen on a link-local
# address, as DNS of some clouds does (Cloud DNS for GKE: 169.254.169.254), or, where Cilium redirects, in pods.
NODE_DNS: list[dict[str, Any]] = [
    {"namespace": "kube-system", "pod_selector": {"k8s-app": "node-local-dns"}, "ports": ["53/UDP", "53/TCP"]},
    {"cidr": "169.254.0.0/16", "ports": ["53/UDP", "53/TCP"]},
]
OPENSHIFT_DNS: list[dict[str, Any]] = [
    {
        "namespace": "openshift-dns",
        "pod_selector": {"dns.operator.openshift.io/daemonset-dns": "default"},
        "ports": ["5353/UDP", "5353/TCP"],
    }
]
USER_MONITORING = "openshift-user-workload-monitoring"

_VALUES: dict[str, dict[str, Any]] = {
    KUBERNETES: {
        "run_as_user": USER,
        "run_as_group": USER,
        "fs_group": USER,
        "exposure": "load_balancer",
        "dns": [*KUBE_DNS, *NODE_DNS],
        "monitoring_namespaces": [],
    },
    OPENSHIFT: {
        "run_as_user": None,
        "run_as_group": None,
        "fs_group": None,
        "exposure": "route",
        "dns": OPENSHIFT_DNS,
        "monitoring_namespaces": [USER_MONITORING],
    },
}
# Lists that are left to the platform where they are the roles' defaults, since their items are checked one by one.
_OPEN: dict[str, list[dict[str, Any]]] = {"dns": KUBE_DNS, "monitoring_namespaces": []}


def of_groups(groups: Iterable[str]) -> str:
    """The platform of an API server, by the names of its API groups."""
    return OPENSHIFT if set(groups) >= _GROUPS else KUBERNETES


def values(platform: str, names: Collection[str]) -> dict[str, Any]:
    """The platform's values of some variables."""
    own = _VALUES[OPENSHIFT if platform == OPENSHIFT else KUBERNETES]
    return {name: own[name] for name in own if name in names}


def with_platform_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Variables with the values of their platform, those of Kubernetes while it is not known, and C(left_open): which of them are its."""
    names = [name for name in _VALUES[KUBERNETES] if name in given and _is_open(name, given[name])]
    return {**given, **values(text(given.get("platform")), names), "left_open": names}


def _is_open(name: str, value: Any) -> bool:
    return bool(value == _OPEN.get(name, AUTO))
