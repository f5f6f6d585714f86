# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Skupper requires of a cluster: a release of its own, and a Pod Security level for its routers. Pure.

Observed with Skupper 2.2.1: the pods of its Deployment C(skupper-router) set no C(seccompProfile), so a namespace that enforces
C(restricted) refuses them; nothing else of them breaks C(restricted). The Deployment has no pods then, and its condition
C(ReplicaFailure) has the reason. What enforces: k8s.io/pod-security-admission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..apply.readiness import condition
from ..base.values import text
from ..manifests.common_objects import AUTO, BASELINE, ENFORCE, RESTRICTED
from ..spec.network_spec import NetworkSiteSpec
from .ownership import is_ours

Object = Mapping[str, Any]

# The oldest release whose controller does what is counted on here.
OLDEST = (2, 2, 1)
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:[-+].*)?")


def parse_version(value: Any) -> tuple[int, int, int] | None:
    """The numbers of a release; None for what is none, such as a build from a branch."""
    match = _VERSION.fullmatch(text(value))
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def version_fault(value: Any) -> str:
    """Why a controller of this release is not usable; empty if it is, or if it is not known."""
    found = parse_version(value)
    if found is None or found >= OLDEST:
        return ""
    wanted = ".".join(map(str, OLDEST))
    if found < (2, 0, 0):
        return f"is Skupper {text(value)}, of another generation; Skupper {wanted} or later is needed"
    return (
        f"is Skupper {text(value)}: before {wanted} a Listener takes over a Service of the same name that someone else created, and "
        f"an upgrade from 2.1 does not complete. Upgrade Skupper to {wanted} or later"
    )


def enforced(namespace: Object | None) -> str:
    """The level in the labels of a namespace; empty for none."""
    return text((((namespace or {}).get("metadata") or {}).get("labels") or {}).get(ENFORCE))


def is_to_change(spec: NetworkSiteSpec, namespace: Object | None) -> bool:
    """Whether a live namespace of ours enforces a level that refuses routers, and must be lowered."""
    return spec.create_namespace and spec.pod_security == AUTO and is_ours(namespace) and enforced(namespace) == RESTRICTED


def level_warning(spec: NetworkSiteSpec, namespace: Object | None, *, running: bool) -> str:
    """Message before anything is changed; may be empty.

    Args:
        namespace: live.
        running: whether a router runs in it already.
    """
    if enforced(namespace) != RESTRICTED:
        return ""
    reported = f"namespace {spec.namespace} enforces Pod Security {RESTRICTED}, which refuses Skupper's routers: they set no seccompProfile"
    if is_to_change(spec, namespace):
        return f"{reported}. From now on it enforces {BASELINE}, and warns at {RESTRICTED}; flower_pod_security: {RESTRICTED} keeps it as it is"
    return "" if running else f"{reported}. {_level_remedy(spec.namespace)}"


def _level_remedy(namespace: str) -> str:
    return (
        f"Set flower_pod_security to {AUTO} or {BASELINE}; where someone else owns the namespace, have it labelled "
        f"(kubectl label namespace {namespace} {ENFORCE}={BASELINE} --overwrite)"
    )


def refusal(deployments: Iterable[Object], namespace: Object | None) -> tuple[str, bool]:
    """Why Kubernetes refuses the pods of routers, and whether waiting cannot help; empty where it does not refuse them.

    Args:
        deployments: the routers' Deployments.
        namespace: their namespace, live. A level that was lowered since then helps when Kubernetes tries again.
    """
    for one in deployments:
        failed = condition(one, "ReplicaFailure") or {}
        if failed.get("status") != "True":
            continue
        why = f"Kubernetes refuses the pods of Deployment {one['metadata']['name']}: {text(failed.get('message')) or failed.get('reason')}"
        violated = re.search(r'violates PodSecurity "([a-z]+):', why)
        if violated and enforced(namespace) in ("", violated[1]):
            return f"{why}. {_level_remedy(one['metadata'].get('namespace', ''))}", True
        return why, False
    return "", False
