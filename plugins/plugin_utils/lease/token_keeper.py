# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The process that revokes a token when the run that logged in ends, whether it succeeds, fails or is killed.

A playbook cannot promise that: when all hosts of a play fail, no further play is run. Like the keeper of the lease, it is a fork, which has
the token in memory. The keeper of the lease may need the token to return the lease: it is waited for.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from ..base.errors import ClusterError
from ..kube import oauth
from ..kube.client import Cluster
from .holding import Holding
from .keeper import LONGEST, detach
from .lease_object import SECONDS
from .process import Process

_LOOK = 1.0  # seconds between two looks for the lease of the run
_TIMEOUT = 5.0  # seconds for a request
_ATTEMPTS = 5


def start(cluster: Cluster, token: str, folder: Path, pid: int) -> int:
    """Start the process; returns its number.

    Args:
        cluster: a connection with the token.
        token: to revoke.
        folder: the temporary folder of the run.
        pid: the process of the run.

    Raises:
        OSError: there can be no more processes.
    """
    child = os.fork()
    if child:
        return child
    try:
        detach(cluster)
        cluster.timeout = _TIMEOUT
        wait(Process(pid), lambda: Holding.open(folder))
        revoke(cluster, token)
    finally:
        os._exit(0)  # none of what the parent would do at its end


def wait(process: Process, find: Callable[[], Holding | None]) -> None:
    """Wait for the end of a run, and then of the process that keeps its lease, for as long as that lasts at most."""
    holding: Holding | None = None
    while not process.ends_within(_LOOK):
        holding = holding or find()
    keeper = holding.last().get("keeper") if holding is not None else None
    if keeper:
        Process(int(keeper)).ends_within(LONGEST + SECONDS)


def revoke(cluster: Cluster, token: str) -> None:
    """Revoke a token; where the cluster does not answer, it is tried again, and the token expires by itself in the end."""
    for _attempt in range(_ATTEMPTS):
        with contextlib.suppress(ClusterError):
            oauth.revoke(cluster, token)
            return
