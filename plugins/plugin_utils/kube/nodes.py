# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes of a site a DaemonSet pool runs on. Pure functions on live Node objects.

Source of the rules: Kubernetes documentation, «DaemonSet» (how daemon pods are scheduled, tolerations added automatically).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

# The DaemonSet controller tolerates these for its pods.
_TOLERATED = {
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
}


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def shortened(node: Mapping[str, Any]) -> dict[str, Any]:
    """What these functions read of a node, a small part of it: all images on it are listed, too."""
    meta, taints, conditions = node["metadata"], node.get("spec", {}).get("taints", []), node.get("status", {}).get("conditions", [])
    return {
        "metadata": {"name": meta["name"], "labels": meta.get("labels", {})},
        "spec": {"taints": taints},
        "status": {"conditions": conditions},
    }


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether the kubelet reports the node as ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def eligible(
    nodes: Sequence[Mapping[str, Any]],
    selector: Mapping[str, str] | None,
    tolerations: Sequence[Mapping[str, Any]] | None,
    affinity: Mapping[str, Any] | None,
    running: Collection[str] = (),
) -> list[Mapping[str, Any]]:
    """The nodes on which a DaemonSet with this node selector, these tolerations and this affinity has a pod, by name.

    A taint C(NoSchedule) that is added later does not evict an existing pod (kube-controller-manager,
    C(daemon/daemon_controller.go), C(NodeShouldRunDaemonPod)): C(running) are the nodes where one is.
    """
    found = []
    for node in nodes:
        if _is_selected(node, selector, affinity):
            effects = _untolerated(node, tolerations)
            if not effects or (effects == {"NoSchedule"} and node["metadata"]["name"] in running):
                found.append(node)
    return sorted(found, key=lambda node: node["metadata"]["name"])


def closed(
    nodes: Sequence[Mapping[str, Any]],
    selector: Mapping[str, str] | None,
    tolerations: Sequence[Mapping[str, Any]] | None,
    affinity: Mapping[str, Any] | None,
) -> list[str]:
    """Names of the nodes that accept no new pod of a DaemonSet, and keep an existing one."""
    return [
        node["metadata"]["name"]
        for node in nodes
        if _is_selected(node, selector, affinity) and _untolerated(node, tolerations) == {"NoSchedule"}
    ]


def is_in(required: Mapping[str, Any] | None, node: Mapping[str, Any]) -> bool:
    """Whether a NodeSelector, of a pod's affinity or of a PersistentVolume, permits a node; none permits all."""
    terms = (required or {}).get("nodeSelectorTerms") or []
    labels, fields = node["metadata"].get("labels") or {}, {"metadata.name": node["metadata"]["name"]}
    parts = [(term.get("matchExpressions") or [], term.get("matchFields") or []) for term in terms]
    # A term without a rule permits no node.
    return not terms or any(
        bool(rules or named) and all(_meets(rule, labels) for rule in rules) and all(_meets(rule, fields) for rule in named)
        for rules, named in parts
    )


def _meets(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One NodeSelectorRequirement."""
    operator, value, values = rule.get("operator"), labels.get(rule["key"]), rule.get("values") or []
    if operator in ("NotIn", "DoesNotExist"):
        return value is None or (operator == "NotIn" and value not in values)
    if operator in ("Gt", "Lt"):
        try:
            number, limit = int(value or ""), int(values[0])
        except (ValueError, IndexError):
            return False
        return number > limit if operator == "Gt" else number < limit
    return value is not None and (operator == "Exists" or value in values)


def _is_selected(node: Mapping[str, Any], selector: Mapping[str, str] | None, affinity: Mapping[str, Any] | None) -> bool:
    labels = node["metadata"].get("labels", {})
    required = ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return all(labels.get(key) == value for key, value in (selector or {}).items()) and is_in(required, node)


def _untolerated(node: Mapping[str, Any], tolerations: Sequence[Mapping[str, Any]] | None) -> set[str]:
    """Effects of the taints that keep a pod away."""
    return {
        taint["effect"]
        for taint in node.get("spec", {}).get("taints", [])
        if taint.get("effect") in ("NoSchedule", "NoExecute")
        and taint["key"] not in _TOLERATED
        and not any(_tolerates(toleration, taint) for toleration in tolerations or [])
    }
