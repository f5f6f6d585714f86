# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records kept in ConfigMaps that several controllers may write at once: what ledger and audit trail have in common."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..base.errors import ClusterError
from ..base.labels import record_labels
from ..marks import owners
from ..marks.proof import federation_of, holder, is_managed, may_delete
from .api_errors import Conflict, NotFound, Unavailable, Unreachable
from .client import Cluster

# A controller that loses a race waits and tries again; this many losses in a row mean that something else is wrong.
ATTEMPTS = 20
_AGAIN = 1.0  # seconds

Outcome = TypeVar("Outcome")


def config_map(
    federation: str,
    namespace: str,
    name: str,
    data: Mapping[str, str],
    *,
    application: str,
    component: str,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A ConfigMap with the labels of a record; it is in no ApplySet, so nothing prunes it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**record_labels(federation, application, component), **(labels or {})},
        },
        "data": dict(data),
    }  # fmt: skip


def write(cluster: Cluster, item: Mapping[str, Any]) -> None:
    """Create a ConfigMap, or replace it when it was read before.

    Raises:
        ClusterError: someone else created it.
        Conflict: when someone else created or changed it since.
    """
    if item["metadata"].get("resourceVersion"):
        if not is_managed(item):
            lost = owners.describe_objects(item, federation_of(item), item["kind"])
            why = f"{holder(item)}: it is not changed. Delete or rename it, or deploy into another namespace (flower_namespace)"
            raise ClusterError(
                f"ConfigMap {item['metadata']['namespace']}/{item['metadata']['name']} on {cluster.name} exists already and {lost or why}."
            )
        cluster.replace(item)
    else:
        cluster.create(item)


def remove(cluster: Cluster, namespace: str, name: str, federation: str) -> bool:
    """Delete a record; returns whether there was one.

    Raises:
        ClusterError: this collection did not create it for the federation.
    """
    item = cluster.get("v1", "ConfigMap", name, namespace)
    if item is None:
        return False
    if not may_delete(item, federation):
        raise ClusterError(
            f"ConfigMap {namespace}/{name} on {cluster.name} was not created by this federation, so it was not deleted. Delete it manually"
        )
    try:
        cluster.delete("v1", "ConfigMap", name, namespace, uid=item["metadata"]["uid"])
    except NotFound:
        return False
    return True


def retry_on_conflict(what: str, attempt: Callable[[], Outcome], *, unsure: bool = True) -> Outcome:
    """Call C(attempt), which reads, changes and writes, until no other write is in between.

    Args:
        what: what is written, for the error.
        attempt: raises Conflict when someone else was faster. It has the same effect when its last write was carried out, which it sees.
        unsure: whether it is called again if the API server did not answer to a write. Reads are repeated by the connection.

    Raises:
        ClusterError: when that happened C(ATTEMPTS) times, or the API server does not answer.
    """
    for number in range(ATTEMPTS):
        try:
            return attempt()
        except Conflict:
            # Read again after a moment that differs between the contenders.
            time.sleep(random.uniform(0, 0.05) * (number + 1))
        except (Unreachable, Unavailable) as error:
            if not (unsure and error.unsure) or number == ATTEMPTS - 1:
                raise
            time.sleep(_AGAIN)  # until the next attempt, which waits for an answer
    raise ClusterError(
        f"{what} changed {ATTEMPTS} times while it was being written. "
        "Another run may be active; run again when it is complete"
    )
