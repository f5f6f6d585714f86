# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hold a lease that was taken: for the rest of a run, or for a block of one task that lasts much longer than what it changes; and make sure,
before something that would do harm otherwise, that it is still held.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..base.errors import ClusterError
from ..kube.client import Cluster
from . import keeper
from .holding import HELD, LOST, RETURNED, Holding
from .taking import Lease, Lost


def begin(lease: Lease, folder: Path, pid: int) -> None:
    """Have a process keep a lease for the rest of a run. If there can be none, the lease is returned.

    Args:
        lease: that was taken.
        folder: the temporary folder of the run.
        pid: the process of the run.

    Raises:
        ClusterError: there can be no more processes.
    """
    with Holding.begin(folder) as holding:
        _keep(lease, holding, folder, pid)


@contextmanager
def held(lease: Lease, folder: Path, pid: int) -> Iterator[None]:
    """Keep a lease for as long as the block lasts, and return it. A block that changes much asks C(assure) before.

    Args:
        lease: that was taken, with a connection that nothing else uses.
        folder: the temporary folder of the run.
        pid: the process of the run.

    Raises:
        Lost: someone else had taken it meanwhile, at the end of the block.
        ClusterError: there can be no more processes.
    """
    with Holding.begin(folder) as holding:
        child = _keep(lease, holding, folder, pid)
        try:
            yield
        finally:
            with holding.locked():
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
                holding.note(RETURNED)
                lease.give_back()


def assure(cluster: Cluster, namespace: str, federation: str, folder: Path) -> None:
    """Renew the lease that this run holds. A run without one, as of a single module, may go on.

    Args:
        cluster: a connection to the hub.
        namespace: that of the hub.
        federation: its name.
        folder: the temporary folder of the run.

    Raises:
        Lost: this run does not hold it any more.
    """
    holding = Holding.open(folder)
    if holding is None:
        return
    with holding:
        last = holding.last()
    if last.get("state") == LOST:
        raise Lost(last["msg"])
    if last.get("state") == HELD and not Lease(cluster, namespace, federation, last["holder"]).renew():
        raise Lost(f"{cluster.name}: the lease of the federation {federation} was deleted while this run held it, so this run changes nothing more")


def _keep(lease: Lease, holding: Holding, folder: Path, pid: int) -> int:
    holding.note(HELD, holder=lease.identity, pid=pid)
    try:
        child = keeper.start(lease, folder, pid)
    except OSError as error:
        lease.give_back()
        holding.note(RETURNED)
        raise ClusterError(
            f"no process can be started that keeps the lease of the fleet: {os.strerror(error.errno or 0)}. Nothing was changed."
        ) from error
    holding.note(HELD, holder=lease.identity, pid=pid, keeper=child)
    return child
