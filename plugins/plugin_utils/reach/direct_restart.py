# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods of a site that run with outdated files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.names import CLIENTAPP, keys_secret
from ..kube.client import Cluster
from ..manifests.supernode import NAME, TRUST
from ..marks import proof
from ..rotation import restart, site_proof
from ..rotation.restart import delete, replace
from ..site_keys import keys
from .site import Site

__all__ = ["FILES", "delete", "old", "replace"]

# What can be replaced -> the option of the process that names its file.
FILES = {
    "trust": "--root-certificates",
    "key": "--auth-supernode-private-key",
    "superexec": "--superexec-auth-secret-file",
    "loopback": "--root-certificates",
}


def old(
    cluster: Cluster,
    site: Site,
    files: Sequence[str],
    secret_digests: Callable[[str], Mapping[str, str]],
    *,
    check: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """Pool -> pods that run with older files.

    Args:
        cluster: a connection.
        site: whose pods these are. Those of others in its namespace are not asked.
        files: keys of C(FILES).
        secret_digests: gives entry -> digest of a Secret.
        check: check mode, in which files of a pod may not exist yet.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    held: dict[tuple[str, str], Mapping[str, str]] = {}
    pods = proof.selector(site.federation, NAME, CLIENTAPP)
    for pod in cluster.list("v1", "Pod", site.namespace, labels=pods):
        pool, name = site_proof.place(pod)
        wanted = {}
        for kind, (path, place, entry) in _places(pod, pool, name).items():
            if kind not in files:
                continue
            if place not in held:
                held[place] = (
                    secret_digests(place[1]) if place[0] == "Secret" else _map_digests(cluster, site.namespace, place[1])
                )
            if entry not in held[place] and check:
                found.setdefault(pool, []).append(pod)  # what it will read does not exist yet
                break
            if entry not in held[place]:
                raise ClusterError(f"{place[0]} {site.namespace}/{place[1]} on {cluster.name} has no entry {entry}")
            wanted[path] = held[place][entry]
        if pod not in found.get(pool, []) and restart.is_old(cluster, pod, _container(pod), wanted):
            found.setdefault(pool, []).append(pod)
    return dict(sorted(found.items()))


def _map_digests(cluster: Cluster, namespace: str, name: str) -> Mapping[str, str]:
    found = (cluster.get("v1", "ConfigMap", name, namespace) or {}).get("data") or {}
    return {entry: site_proof.digest(value) for entry, value in found.items()}


def _container(pod: Mapping[str, Any]) -> str:
    """The container that reads the files: the SuperNode, or the SuperExec of a ClientApp in its own pod."""
    return "superexec" if pod["metadata"]["labels"].get("app.kubernetes.io/name") == CLIENTAPP else site_proof.CONTAINER


def _places(pod: dict[str, Any], pool: str, name: str) -> dict[str, tuple[str, tuple[str, str], str]]:
    """Kind -> path of the file, the object that it comes from, and the entry, of the files that this SuperNode reads."""
    places = {
        "trust": (("ConfigMap", TRUST), "ca.crt"),
        "key": (("Secret", keys_secret(pool)), name),
        "superexec": (("Secret", keys.SUPEREXEC), "secret"),
        "loopback": (("Secret", keys.LOCAL_TLS), "ca.crt"),
    }
    found = {}
    for kind, option in FILES.items():
        path = site_proof.argument(pod, option, _container(pod))
        if _container(pod) != site_proof.CONTAINER and kind != "superexec":
            continue  # what a ClientApp trusts is not the hub's CA bundle
        if path and not (kind in ("trust", "loopback") and (kind == "trust") == site_proof.has_sidecar(pod)):
            found[kind] = (path.rpartition("$(")[0] + name if "$(" in path else path, *places[kind])
    return found
