# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Cluster DNS: CoreDNS, which also knows the names of the fleet's clusters (NAME.fleet.test)."""

from __future__ import annotations

from typing import Any

from ..settings import COREDNS_IMAGE, DOMAIN, Cluster, all_clusters
from .base import Addon

NAMESPACE = "kube-system"
LABELS = {"k8s-app": "kube-dns"}


def corefile(cluster: Cluster) -> str:
    """CoreDNS' configuration. Unknown names get NXDOMAIN at once: there is no route out of the fleet."""
    names = "\n".join(f"        {other.address} {other.hostname}" for other in all_clusters(cluster.subnet))
    return f"""cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {{
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
    }}
    cache 5
}}
{DOMAIN}:53 {{
    errors
    hosts {{
{names}
    }}
}}
.:53 {{
    errors
    health :8080
    ready :8181
    template ANY ANY {{
        rcode NXDOMAIN
    }}
    reload
}}
"""


def addon(cluster: Cluster) -> Addon:
    """CoreDNS with the Service address that kubelet sets in pods."""

    def named(**extra: Any) -> dict[str, Any]:
        return {"name": "coredns", "namespace": NAMESPACE, **extra}

    role = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    container = {
        "name": "coredns",
        "image": COREDNS_IMAGE,
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        # As kubeadm sets them: without a request, DNS gets no CPU on a busy machine, and kubelet restarts it until it backs off.
        "resources": {"requests": {"cpu": "100m", "memory": "70Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1, "timeoutSeconds": 5},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "initialDelaySeconds": 60, "timeoutSeconds": 5, "failureThreshold": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        },
    }
    return Addon(
        "dns",
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named()},
            {
                **role,
                "kind": "ClusterRole",
                "metadata": {"name": "system:coredns"},
                "rules": [
                    {
                        "apiGroups": [""],
                        "resources": ["endpoints", "services", "pods", "namespaces"],
                        "verbs": ["list", "watch"],
                    },
                    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
                ],
            },
            {
                **role,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "system:coredns"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
                "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": NAMESPACE}],
            },
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named(), "data": {"Corefile": corefile(cluster)}},
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": named(labels=LABELS),
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": LABELS},
                    "template": {
                        "metadata": {"labels": LABELS},
                        "spec": {
                            "serviceAccountName": "coredns",
                            "priorityClassName": "system-cluster-critical",
                            "dnsPolicy": "Default",
                            "containers": [container],
                            "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
                        },
                    },
                },
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "kube-dns", "namespace": NAMESPACE, "labels": LABELS},
                "spec": {
                    "selector": LABELS,
                    "clusterIP": cluster.dns_ip,
                    "ports": [
                        {"name": "dns", "port": 53, "protocol": "UDP"},
                        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
                    ],
                },
            },
        ],
        [(NAMESPACE, "coredns")],
    )
