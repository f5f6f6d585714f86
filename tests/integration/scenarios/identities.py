# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs of ServiceAccounts."""

from __future__ import annotations

from typing import Any

LIFETIME = 3600  # seconds; no session lasts longer with one token


def token(federation: Any, context: str, namespace: str, account: str) -> str:
    """A token that the API server gives out for a ServiceAccount; one more secret that must never be seen."""
    answer = federation.cluster(context).request(
        "POST",
        f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": LIFETIME},
        },
    )
    made = answer["status"]["token"]
    federation.secrets[made] = f"token of {account} on {context}"
    return made


def entry(config: dict[str, Any], context: str) -> dict[str, Any]:
    """The cluster of a context of a kubeconfig."""
    (named,) = (one["context"]["cluster"] for one in config["contexts"] if one["name"] == context)
    (cluster,) = (one["cluster"] for one in config["clusters"] if one["name"] == named)
    return cluster


def kubeconfig(clusters: dict[str, dict[str, Any]], users: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A kubeconfig with a context for each cluster; the first one is the current one."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(clusters)),
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in clusters],
        "clusters": [{"name": name, "cluster": cluster} for name, cluster in clusters.items()],
        "users": [{"name": name, "user": users[name]} for name in clusters],
    }
