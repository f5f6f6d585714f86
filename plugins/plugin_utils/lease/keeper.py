# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The process that keeps the lease while a playbook runs, and returns it when the playbook ends without having done so.

It is a fork, not a new program: it has the credentials in memory, so they stand in no arguments, no environment and no file, and
nothing has to be loaded again. It is in a session of its own, so that it outlives a playbook that is killed with all its forks, for as long
as it takes to return the lease. Where it is killed as well, as with a pod, the lease ends by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from ..base.errors import ClusterError
from ..kube.client import Cluster
from .holding import LOST, Holding, is_idle_within, open_lock
from .lease_object import RENEW, SECONDS
from .process import Process
from .taking import Lease, Lost

_TIMEOUT = 5.0  # seconds for a request: several fit into the time that a lease lasts
_AGAIN = 2.0  # seconds until the next attempt after one that failed
_REST = (
    SECONDS - RENEW
)  # seconds that forks have to finish their task: the lease lasts at least that long without a renewal
_STDIO = 3


def start(lease: Lease, folder: Path, pid: int) -> int:
    """Start the process; returns its number.

    Args:
        lease: that was taken.
        folder: the temporary folder of the run, with its C(Holding).
        pid: the process of the run.

    Raises:
        OSError: there can be no more processes.
    """
    child = os.fork()
    if child:
        return child
    try:
        detach(lease.cluster)
        lease.cluster.timeout = _TIMEOUT
        holding = Holding.open(folder)
        if holding is not None:
            lock = open_lock(folder)
            if keep(lease, holding, Process(pid)):
                is_idle_within(lock, _REST)
                give_back(lease, holding)
    finally:
        os._exit(0)  # none of what the parent would do at its end


def detach(cluster: Cluster) -> None:
    """Share nothing with the parent: who waits for its end waits until its pipes are closed."""
    os.setsid()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, signal.SIG_DFL)
    cluster.close()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(_STDIO):
        os.dup2(nowhere, number)
    for name in os.listdir("/dev/fd"):
        if int(name) >= _STDIO:
            with contextlib.suppress(OSError):  # that by which the folder was listed
                os.close(int(name))


def keep(lease: Lease, holding: Holding, process: Process) -> bool:
    """Renew the lease until the process has ended, or the lease is returned or lost; returns whether it is still held.

    When the hub cannot be reached, the lease ends by itself; it is renewed again afterwards unless someone took it.
    """
    pause = RENEW
    while not process.ends_within(pause):
        pause = RENEW
        with holding.locked():
            if not holding.is_held:
                return False
            try:
                lease.renew()
            except Lost as error:
                holding.note(LOST, msg=error.message)
                return False
            except ClusterError:
                pause = _AGAIN
    return True


def give_back(lease: Lease, holding: Holding) -> None:
    """Return the lease, unless the run has done so at the last moment."""
    with holding.locked():
        if holding.is_held:
            with contextlib.suppress(ClusterError):  # then it ends by itself
                lease.give_back()
