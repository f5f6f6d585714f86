# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of several renderers, and the namespace with its Pod Security level.

Renderers are pure: a specification (plugin_utils/spec) goes in, a list of Kubernetes objects comes out, the same input gives the same
bytes. Nothing here opens a connection, reads a file or imports Ansible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.labels import MANAGER, PART_OF, own_pods, selector
from ..base.values import Object, compact
from ..spec.part_spec import PartSpec

AUTO, BASELINE, RESTRICTED = "auto", "baseline", "restricted"
SECURITY_MODES = ("audit", "enforce", "warn")
SECURITY_LABEL = "pod-security.kubernetes.io/"
ENFORCE = f"{SECURITY_LABEL}enforce"
_RBAC = "rbac.authorization.k8s.io"


def labels(spec: PartSpec, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels of an object or pod template. The collection's own labels win over the user's.

    Args:
        name: application ("superlink", "serverapp", "supernode").
        component: its part; the application's name if not given.
        pool: name of the pool.
    """
    merged = {
        **spec.labels,
        **selector(spec.federation, name, component, pool=pool),
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/version": spec.version,
    }
    return dict(sorted(merged.items()))


def metadata(
    spec: PartSpec,
    object_name: str,
    name: str,
    component: str | None = None,
    *,
    pool: str | None = None,
    annotations: Mapping[str, str] | None = None,
    extra_labels: Mapping[str, str] | None = None,
    namespaced: bool = True,
    versioned: bool = True,
) -> Object:
    """metadata of one object: name, namespace, labels and, if there are any, annotations.

    Args:
        versioned: whether it changes with each release of Flower, in a label.
    """
    merged = {**(extra_labels or {}), **labels(spec, name, component, pool=pool)}
    if not versioned:
        del merged["app.kubernetes.io/version"]
    return compact(
        {
            "name": object_name,
            "namespace": spec.namespace if namespaced else None,
            "labels": dict(sorted(merged.items())),
            "annotations": dict(sorted({**spec.annotations, **(annotations or {})}.items())),
        }
    )


def api_object(spec: PartSpec, kind: str, object_name: str, name: str, fields: Mapping[str, Any], component: str | None = None, **more: Any) -> Object:
    """An object of the Kubernetes API.

    Args:
        kind: C(API VERSION/KIND), such as C(apps/v1/StatefulSet).
        fields: all but apiVersion, kind and metadata.
        more: as C(metadata) takes it, which takes C(object_name), C(name) and C(component) as well.
    """
    api_version, _slash, kind = kind.rpartition("/")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata(spec, object_name, name, component, **more), **fields}


def config_map(spec: PartSpec, object_name: str, name: str, data: Mapping[str, str], component: str | None = None) -> Object:
    """A ConfigMap with text data."""
    return api_object(spec, "v1/ConfigMap", object_name, name, {"data": dict(data)}, component)


def service(spec: PartSpec, object_name: str, name: str, body: Object, **more: Any) -> Object:
    """A Service; C(more) as C(metadata) takes it."""
    return api_object(spec, "v1/Service", object_name, name, {"spec": body}, **more)


def network_policy(spec: PartSpec, object_name: str, name: str, body: Object) -> Object:
    """A NetworkPolicy."""
    return api_object(spec, "networking.k8s.io/v1/NetworkPolicy", object_name, name, {"spec": body})


def service_account(spec: PartSpec, object_name: str, name: str = "", **more: Any) -> Object:
    """A ServiceAccount that gives its pods no token. It is there for image pull rights and OpenShift's SCCs. C(more) as C(metadata) takes it."""
    return api_object(spec, "v1/ServiceAccount", object_name, name or object_name, {"automountServiceAccountToken": False}, **more)


def account_rights(spec: PartSpec, account: str, name: str, rules: Sequence[Object], **more: Any) -> list[Object]:
    """A Role and a RoleBinding with the name of the account that gets it."""
    binding = {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": spec.namespace}],
    }
    return [
        api_object(spec, f"{_RBAC}/v1/Role", account, name, {"rules": rules}, **more),
        api_object(spec, f"{_RBAC}/v1/RoleBinding", account, name, binding, **more),
    ]


def api_volume(seconds: int) -> Object:
    """A volume with what a pod needs to talk to the API server: a token for so many seconds, which the kubelet renews, and the CA."""
    sources: list[Object] = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": seconds}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return {"name": "api", "projected": {"defaultMode": 0o440, "sources": sources}}


def disruption_budget(spec: PartSpec, object_name: str, name: str, max_unavailable: int, *, pool: str | None = None) -> Object:
    """A PodDisruptionBudget. A broken pod never holds up a drain."""
    body = {
        "maxUnavailable": max_unavailable,
        "selector": {"matchLabels": own_pods(spec.federation, name, pool=pool)},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return api_object(spec, "policy/v1/PodDisruptionBudget", object_name, name, {"spec": body}, pool=pool)


def security_levels(spec: PartSpec) -> dict[str, str]:
    """Mode of Pod Security admission -> level; empty for none.

    Skupper's routers set no seccompProfile (its Deployment C(skupper-router), seen with 2.2.1), so C(restricted) refuses them: where
    they run, C(auto) enforces C(baseline). It still audits and warns at C(restricted), which the collection's own pods keep to.
    """
    level = spec.pod_security
    if level != AUTO:
        return dict.fromkeys(SECURITY_MODES, level) if level else {}
    return {**dict.fromkeys(SECURITY_MODES, RESTRICTED), "enforce": BASELINE if spec.has_routers else RESTRICTED}


def namespace_objects(spec: PartSpec) -> list[Object]:
    """The Namespace with its Pod Security level; nothing where someone else owns namespaces (C(create_namespace))."""
    if not spec.create_namespace:
        return []
    levels = {f"{SECURITY_LABEL}{mode}": level for mode, level in security_levels(spec).items()}
    return [api_object(spec, "v1/Namespace", spec.namespace, "flower", {}, "namespace", extra_labels=levels, namespaced=False)]
