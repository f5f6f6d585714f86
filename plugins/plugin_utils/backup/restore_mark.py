# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mark of a restore: of which backup, in a ConfigMap of the hub from before the first object until everything is there.

Half a hub looks like one that is to be deployed: site.yml would start a SuperLink on an empty database, and enrol every site again. So whatever
changes a hub refuses one with the mark, and the next run of federated.flower.restore completes it.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import RESTORE_CONFIG
from ..kube.client import Cluster
from ..kube.configmaps import config_map, remove, write
from ..marks import proof

_KEY = "restore.json"


@dataclasses.dataclass(frozen=True)
class Mark:
    """What it says.

    Attributes:
        archive: name of the backup's file.
        started: when the restore was started, ISO 8601, in UTC.
    """

    archive: str
    started: str


def refusal(mark: Mark | None, namespace: str) -> str:
    """Why a hub is not changed: sentences, without a full stop at the end; empty if it may be. Pure."""
    if mark is None:
        return ""
    return (
        f"the restore of {mark.archive}, started at {mark.started}, is not complete, so the hub in namespace {namespace} would have an empty "
        "database: run federated.flower.restore again with this archive. To abandon the restore, delete the hub's namespaces. To continue with what is there "
        f"and lose the rest of the backup, delete the ConfigMap {namespace}/{RESTORE_CONFIG}"
    )


def fault(mark: Mark | None, archive: str, namespace: str) -> str:
    """Why an archive is not restored: a sentence, without a full stop; empty if it may be. Pure.

    Args:
        archive: name of the archive's file.
    """
    if mark is None or mark.archive == archive:
        return ""
    return (
        f"the restore of {mark.archive} into namespace {namespace}, started at {mark.started}, is not complete, and {archive} is another backup: choose the "
        "first one, or delete the hub's namespaces first"
    )


def read(hub: Cluster, namespace: str) -> Mark | None:
    """The mark in a hub; None where there is none, or the ConfigMap is someone else's.

    Raises:
        ClusterError: it cannot be read.
    """
    item = hub.get("v1", "ConfigMap", RESTORE_CONFIG, namespace)
    if item is None or not proof.is_managed({"kind": "ConfigMap", **item}):
        return None
    try:
        found = Mark(**foreign_data.read_json(item["data"][_KEY]))
        if all(isinstance(value, str) for value in dataclasses.astuple(found)):
            return found
    except (KeyError, TypeError, ValueError):
        pass
    raise ClusterError(
        f"ConfigMap {namespace}/{RESTORE_CONFIG} on {hub.name} cannot be read. It marks an incomplete restore of the hub. Delete the hub's "
        "namespaces, and run federated.flower.restore again"
    )


@contextmanager
def marked(hub: Cluster, namespace: str, federation: str, archive: str) -> Iterator[None]:
    """While a restore writes. The mark stays when the block does not end well.

    Args:
        namespace: that of the SuperLink, which is there.
        archive: name of the archive's file, of which C(fault) has found none.

    Raises:
        ClusterError: the ConfigMap is someone else's, or cannot be read.
    """
    if read(hub, namespace) is None:
        mark = Mark(archive, datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"))
        data = {_KEY: json.dumps(dataclasses.asdict(mark), sort_keys=True, indent=1)}
        empty = config_map(federation, namespace, RESTORE_CONFIG, {}, application=RESTORE_CONFIG, component="restore")
        write(hub, {**empty, **(hub.get("v1", "ConfigMap", RESTORE_CONFIG, namespace) or {}), "data": data})
    yield
    remove(hub, namespace, RESTORE_CONFIG, federation)
