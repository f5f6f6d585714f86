# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods of a site that run with outdated files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.names import CLIENTAPP, keys_secret
from ..base.object_names import SUPEREXEC, SUPERNODE, TRUST_CONFIG
from ..kube.client import Cluster
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
# Container -> what it reads.
_READS = {site_proof.CONTAINER: tuple(FILES), SUPEREXEC: ("superexec", "loopback")}


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
    pods = proof.pods_query(site.federation, SUPERNODE, CLIENTAPP)

    def is_old(pod: dict[str, Any], container: str) -> bool:
        wanted = {}
        for path, place, entry in _places(pod, container, files):
            if place not in held:
                held[place] = (
                    secret_digests(place[1])
                    if place[0] == "Secret"
                    else _map_digests(cluster, site.namespace, place[1])
                )
            if entry not in held[place] and check:
                return True  # what it will read does not exist yet
            if entry not in held[place]:
                raise ClusterError(f"{place[0]} {site.namespace}/{place[1]} on {cluster.name} has no entry {entry}")
            wanted[path] = held[place][entry]
        return restart.is_old(cluster, pod, container, wanted)

    for pod in cluster.list("v1", "Pod", site.namespace, labels=pods):
        if any(is_old(pod, container) for container in _containers(pod)):
            found.setdefault(site_proof.place(pod)[0], []).append(pod)
    return dict(sorted(found.items()))


def _map_digests(cluster: Cluster, namespace: str, name: str) -> Mapping[str, str]:
    found = (cluster.get("v1", "ConfigMap", name, namespace) or {}).get("data") or {}
    return {entry: site_proof.digest(value) for entry, value in found.items()}


def _containers(pod: Mapping[str, Any]) -> list[str]:
    """The containers that read such files: the SuperNode, and the SuperExec beside it or in the pod of a ClientApp. Each may restart alone."""
    present = {container["name"] for container in pod["spec"]["containers"]}
    return [name for name in _READS if name in present]


def _places(pod: dict[str, Any], container: str, files: Sequence[str]) -> list[tuple[str, tuple[str, str], str]]:
    """Path, the object that it comes from, and the entry, of those of C(files) that a container reads."""
    pool, name = site_proof.place(pod)
    places = {
        "trust": (("ConfigMap", TRUST_CONFIG), "ca.crt"),
        "key": (("Secret", keys_secret(pool)), name),
        "superexec": (("Secret", keys.SUPEREXEC), "secret"),
        "loopback": (("Secret", keys.LOCAL_TLS), "ca.crt"),
    }
    # Both have the same option. A SuperNode without a sidecar trusts the hub; one with it, and a ClientApp in its own pod, the sidecar.
    trusts_hub = container == site_proof.CONTAINER and not site_proof.has_sidecar(pod)
    other = "loopback" if trusts_hub else "trust"
    found = []
    for kind in files:
        path = site_proof.argument(pod, FILES[kind], container)
        if path and kind in _READS[container] and kind != other:
            found.append((path.rpartition("$(")[0] + name if "$(" in path else path, *places[kind]))
    return found
