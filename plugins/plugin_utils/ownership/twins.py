# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two hosts of an inventory that are one cluster and namespace: the second one that a run looks at is refused.

Each host is looked at in a process of its own. What they have in common is Ansible's temporary folder of the run, in which each
host leaves a file by the name of its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..base.errors import ClusterError

_PREFIX = "federated.flower.place-"


def claim(folder: Path, places: Iterable[str], host: str) -> str:
    """Note that some places are those of a host; returns the other host that has one of them already, or an empty text.

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
                f"what was found out cannot be noted in {path}: {error.strerror}. Make room or set ANSIBLE_LOCAL_TEMP, and run again"
            ) from error
        if other != host:
            return other
    return ""


def _claim(path: Path, host: str) -> str:
    """The host that has the file; a link to a finished file is made at once or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_PREFIX)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(host)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
        return path.read_text(encoding="utf-8")
    finally:
        os.unlink(name)
