# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The process that keeps the lease while a playbook runs, and returns it when the playbook ends without having done so.

Forks of a playbook that was killed are there for a while (see C(parent)). The lease is kept until none of them works any more, so that
no one else changes the fleet at the same time; with a limit, since one of them may hang.

It is a fork, not a new program: it has the credentials in memory, so they stand in no arguments, no environment and no file, and
nothing has to be loaded again. It is in a session of its own, so that it outlives a playbook that is killed with all its forks, for as long
as it takes to return the lease. Where it is killed as well, as with a pod, the lease ends by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from ..base.errors import ClusterError
from ..kube.client import Cluster
from .holding import LOST, Holding, is_idle_within, open_lock
from .lease_object import RENEW
from .process import Process
from .taking import Lease, Lost

_TIMEOUT = 5.0  # seconds for a request: several fit into the time that a lease lasts
_AGAIN = 2.0  # seconds until the next attempt after one that failed
#: Seconds that forks of a playbook that has ended have to finish: twice as long as one step waits for a cluster by default.
LONGEST = 600.0
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
                wind_up(lease, holding, lock)
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
        pause = _renew(lease, holding)
        if not pause:
            return False
    return True


def wind_up(lease: Lease, holding: Holding, lock: int) -> None:
    """After the end of a playbook: renew the lease for as long as a fork of it works, and return it.

    Args:
        lease: that the playbook held.
        holding: of its run.
        lock: what C(open_lock) returned.
    """
    deadline = time.monotonic() + LONGEST
    pause = _AGAIN
    while not is_idle_within(lock, pause):
        if time.monotonic() >= deadline:
            why = f"the playbook of this task ended {LONGEST:.0f} s ago, and its lease was returned. So this task changes nothing more. Run it again"
            give_back(lease, holding, lost=why)
            return
        pause = _renew(lease, holding)
        if not pause:
            return
    give_back(lease, holding)


def give_back(lease: Lease, holding: Holding, *, lost: str = "") -> None:
    """Return the lease, unless the run has done so at the last moment.

    Args:
        lease: that the playbook held.
        holding: of its run.
        lost: why a task that still works has lost it; empty where there is none.
    """
    with holding.locked():
        if not holding.is_held:
            return
        if lost:
            holding.note(LOST, msg=lost)
        with contextlib.suppress(ClusterError):  # then it ends by itself
            lease.give_back()


def _renew(lease: Lease, holding: Holding) -> float:
    """Renew the lease; seconds until the next time, 0 if it is not held any more."""
    with holding.locked():
        if not holding.is_held:
            return 0
        try:
            lease.renew()
        except Lost as error:
            holding.note(LOST, msg=error.message)
            return 0
        except ClusterError:
            return _AGAIN
    return RENEW
