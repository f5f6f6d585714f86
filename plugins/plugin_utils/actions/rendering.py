# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions of a run in check mode would apply, host by host, until M(federated.flower.render) writes it into files.

It is in Ansible's own temporary folder of the run, which is removed at its end.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..base.plain import plain
from ..manifests import gitops

# Set by render.yml alone: the folder for the files may stand in an inventory, and other playbooks in check mode say what they would change.
VARIABLE = "__render_objects"


def _file(folder: Path, host: str) -> Path:
    return folder / f"federated.flower.render-{hashlib.sha256(host.encode()).hexdigest()[:32]}.jsonl"


def keep(folder: Path, host: str, objects: Iterable[Mapping[str, Any]]) -> None:
    """Keep what a GitOps controller may have of the objects that would be applied. Safe for concurrent forks and threads.

    Args:
        folder: the temporary folder of the run.
        host: inventory name of the cluster in which they are.
    """
    lines = "".join(json.dumps(plain(item)) + "\n" for item in gitops.chosen(objects))
    with _file(folder, host).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(lines)
        file.flush()


def kept(folder: Path, host: str) -> list[Mapping[str, Any]] | None:
    """Each object that was kept for a host, once; None where nothing was rendered."""
    path = _file(folder, host)
    if not path.exists():
        return None
    return gitops.latest(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
