# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that several renderers make, and the shape of the two specs.

Renderers are pure: a spec (plain dict) goes in, a list of Kubernetes objects comes out, the same input gives the same
bytes. Nothing here opens a connection, reads a file or imports Ansible.

A spec key is the role variable without the role's prefix (C(superlink_storage_size) is C(storage_size)), so that a
fault can name the variable. roles/*/meta/argument_specs.yml describes the types; the keys every spec has:

    cluster             inventory name of the cluster, for messages and the {cluster} placeholder
    region              str, may be empty
    version             Flower release, "1.41.0"
    federation          name of the federation, also the label app.kubernetes.io/instance
    namespace, create_namespace, pod_security   the last one is the Pod Security level of the namespace: auto, a level, or ""
    insecure            bool: no TLS and no node authentication between SuperNodes and the hub, for labs
    isolation           "process" or "subprocess"
    labels, annotations put on every object
    image_registry, image_pull_policy, image_pull_secrets (list of Secret names)
    run_as_user, run_as_group, fs_group   int, or None to leave the field out
    log_level           FLWR_LOG_LEVEL, or ""
    superlink_address   "host:port" that SuperNodes dial, or "" while nobody knows it
    server_name         name that the gateway's certificate is verified against, or "" for the default
    ca_bundle           PEM text that verifies the gateway's certificate, or "" while there is none
    network_policies, dns, monitoring_namespaces   see policies.py
    patches             list of {target: {kind, name}, patch, type}; see patches.py

Only in the superlink spec: see superlink.py, serverapp.py, gateway.py, exposure.py and policies.py.
Only in the supernode spec: see supernode.py, sidecar.py and policies.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.labels import labels, selector
from ..base.values import Object, Spec, compact, text


def metadata(
    spec: Spec,
    object_name: str,
    name: str,
    component: str | None = None,
    *,
    pool: str | None = None,
    annotations: Mapping[str, Any] | None = None,
    extra_labels: Mapping[str, Any] | None = None,
    namespaced: bool = True,
) -> Object:
    """metadata of one object: name, namespace, labels and, if there are any, annotations."""
    own = labels(spec, name, component, pool=pool)
    merged = {**{k: text(v) for k, v in (extra_labels or {}).items()}, **own}
    notes = {**(spec.get("annotations") or {}), **(annotations or {})}
    return compact(
        {
            "name": object_name,
            "namespace": spec["namespace"] if namespaced else None,
            "labels": dict(sorted(merged.items())),
            "annotations": {k: text(v) for k, v in sorted(notes.items())},
        }
    )


def config_map(
    spec: Spec, object_name: str, name: str, data: Mapping[str, str], component: str | None = None
) -> Object:
    """A ConfigMap with text data."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(spec, object_name, name, component),
        "data": dict(data),
    }


def service_account(spec: Spec, name: str) -> Object:
    """A ServiceAccount that gives its pods no token. It is there for image pull rights and OpenShift's SCCs."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(spec, name, name),
        "automountServiceAccountToken": False,
    }


def disruption_budget(
    spec: Spec, object_name: str, name: str, max_unavailable: int, *, pool: str | None = None
) -> Object:
    """A PodDisruptionBudget. A broken pod never holds up a drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(spec, object_name, name, pool=pool),
        "spec": {
            "maxUnavailable": max_unavailable,
            "selector": {"matchLabels": selector(spec, name, pool=pool)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
