# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tasks of a run in check mode found, for the last task of that run: the one that writes a plan, or files for a GitOps controller.

It is in Ansible's own temporary folder of the run, which is removed at its end. Nothing is changed by what it says. All functions are safe for
concurrent forks and threads.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible import constants

from ..base.errors import ClusterError
from ..base.plain_data import to_json_data
from ..manifests import gitops_objects

# Set by render.yml alone: the folder for the files may stand in an inventory, and other playbooks in check mode say what they would change.
RENDERS = "__render_objects"
_PLAN = "plan"


def add_change(note: Mapping[str, Any]) -> None:
    """Keep a note for a plan, see C(state/plan_text.py)."""
    _add(_PLAN, note)


def changes() -> list[dict[str, Any]]:
    """All notes for a plan."""
    return _read(_PLAN) or []


def add_objects(host: str, objects: Iterable[Mapping[str, Any]], site: str = "") -> None:
    """Keep what a GitOps controller may have of the objects that would be applied.

    Args:
        host: inventory name of the cluster in which they are.
        site: inventory name of the site for which they are there, if that is another cluster.
    """
    _add(_of(host), {"site": site, "objects": list(gitops_objects.chosen(objects))})


def objects_of(host: str) -> list[Mapping[str, Any]] | None:
    """Each object that was kept for a host, once; None where nothing was rendered."""
    parts = _read(_of(host))
    return None if parts is None else gitops_objects.latest(item for part in parts for item in part["objects"])


def sites_of(host: str) -> set[str]:
    """The sites for which objects were kept in another cluster, that of the host."""
    return {part["site"] for part in _read(_of(host)) or [] if part["site"]}


def _of(host: str) -> str:
    return f"render-{hashlib.sha256(host.encode()).hexdigest()[:32]}"


def _file(name: str) -> Path:
    return Path(constants.DEFAULT_LOCAL_TMP) / f"federated.flower.{name}.jsonl"


def _add(name: str, note: Mapping[str, Any]) -> None:
    line = json.dumps(to_json_data(note), separators=(",", ":")) + "\n"
    try:
        with _file(name).open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(line)
            file.flush()
    except OSError as error:
        raise ClusterError(
            f"the findings of check mode cannot be stored in {_file(name)}: {error.strerror}. Free disk space or set ANSIBLE_LOCAL_TEMP, and run again"
        ) from error


def _read(name: str) -> list[dict[str, Any]] | None:
    path = _file(name)
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] if path.exists() else None
