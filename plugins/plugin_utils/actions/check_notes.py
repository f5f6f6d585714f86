# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tasks of a run in check mode found, for the last task of that run: the one that writes a plan, or files for a GitOps controller.

It is in Ansible's own temporary folder of the run, which is removed at its end. Nothing is changed by what it says.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants

from ..base.errors import ClusterError
from ..base.plain_data import to_json_data

#: The notes for a plan, see C(state/plan_text.py).
PLAN = "plan"


def _file(name: str) -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / f"federated.flower.{name}.jsonl"


def add(name: str, note: Mapping[str, Any]) -> None:
    """Add a note. Safe for concurrent forks and threads.

    Args:
        name: what it is for; a part of the name of a file.
        note: data for JSON.

    Raises:
        ClusterError: the file cannot be written.
    """
    line = json.dumps(to_json_data(note), separators=(",", ":")) + "\n"
    try:
        with _file(name).open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(line)
            file.flush()
    except OSError as error:
        raise ClusterError(
            f"what check mode found cannot be stored in {_file(name)}: {error.strerror}. Free disk space or set ANSIBLE_LOCAL_TEMP, and run again"
        ) from error


def read(name: str) -> list[dict[str, Any]] | None:
    """The notes so far; None where there are none."""
    path = _file(name)
    if not path.exists():
        return None
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
