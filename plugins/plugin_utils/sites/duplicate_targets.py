# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two hosts of an inventory that are one cluster and namespace: the second one that a run checks is refused.

Each host is checked in its own process. They share Ansible's temporary folder of the run, in which each
host creates a file named after its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster

_PREFIX = "federated.flower.place-"
_SYSTEM = "kube-system"


def places(cluster: Cluster, namespace: str, known: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """What identifies a namespace, unique in all clusters.

    Args:
        cluster: a connection.
        namespace: its name.
        known: live objects that identify it; without any, the cluster's own Namespace and the name do.
    """
    uids = [one["metadata"]["uid"] for one in known if one is not None]
    if uids:
        return uids
    try:
        system = cluster.get("v1", "Namespace", _SYSTEM)
    except Forbidden:
        system = None
    return [f"{system['metadata']['uid'] if system else cluster.server}/{namespace}"]


def claim(folder: Path, places: Iterable[str], host: str) -> str:
    """Claim some places for a host; returns the other host that has one of them already, or an empty text.

    Args:
        folder: the temporary folder of this run.
        places: what identifies the place (a uid, or an address and a namespace), each alone.
        host: name in the inventory.
    """
    for place in places:
        path = folder / f"{_PREFIX}{hashlib.sha256(place.encode()).hexdigest()}"
        try:
            other = _claim(path, host)
        except OSError as error:
            raise ClusterError(
                f"the places of hosts cannot be stored in {path}: {error.strerror}. Free disk space or set ANSIBLE_LOCAL_TEMP, and run again"
            ) from error
        if other != host:
            return other
    return ""


def _claim(path: Path, host: str) -> str:
    """The host that has the file; the link to a complete file is created atomically."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_PREFIX)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(host)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
        return path.read_text(encoding="utf-8")
    finally:
        os.unlink(name)
