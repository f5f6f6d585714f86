# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook of which a task is a fork.

Forks of a playbook that was killed (SIGKILL) are in sessions of their own (ansible-core 2.19, C(executor/process/worker.py)): nothing ends them,
so a task that works for long looks between two steps whether its playbook is still there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..base.errors import ClusterError

_FOLDER = re.compile(r"ansible-local-(\d+)\w{8}")


class Abandoned(ClusterError):
    """The playbook has ended, and with it soon the lease; this process, a fork of it, is still there."""


def playbook(folder: Path) -> int:
    """The process of the playbook, also if it was killed before its fork could ask for its parent, which is another process then.

    Args:
        folder: the temporary folder of the run, whose name has it (ansible-core 2.18 to 2.21, C(config/manager.py): type C(tmppath)). With
            another name, the parent of this process is taken.
    """
    found = _FOLDER.fullmatch(folder.name)
    return int(found[1]) if found else os.getppid()


def has_ended(pid: int) -> bool:
    """Whether the playbook, see above, has ended."""
    return os.getppid() != pid


def require_playbook(pid: int, what: str) -> None:
    """Go on only while the playbook C(pid) is there; C(what) is it, in words.

    Raises:
        Abandoned: it has ended.
    """
    if has_ended(pid):
        raise Abandoned(f"{what} has ended, so nothing more is changed. Run it again")
