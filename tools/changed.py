# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""What has changed since a gate passed, for daily work: the digests of files at that time are in a file beside the staged copy.

What one file does to another one, such as a documentation fragment to a module, is seen by the whole run of `make test`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

SKIPPED = {"__pycache__", ".ansible", ".pytest_cache", ".ruff_cache", "build", ".git", "output"}


def digests(inputs: Sequence[str] = ("",)) -> dict[str, str]:
    """Path -> digest of every file below the current folder whose path begins with one of the inputs."""
    files = (path for path in sorted(Path().rglob("*")) if path.is_file() and not set(path.parts) & SKIPPED)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if str(path).startswith(tuple(inputs))}


class Passed:
    """The files with which a gate passed.

    Args:
        gate: name of the gate.
        inputs: beginnings of the paths of files that it reads.
    """

    def __init__(self, gate: str, inputs: Sequence[str] = ("",)) -> None:
        self._file = Path(os.environ["FLOWER_STAGE"]) / f".passed-{gate}.json"
        self._present = digests(inputs)

    def changed(self) -> list[str] | None:
        """Paths of files that have changed since it passed, or are new; None if it has not passed before, or files are gone."""
        known = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        if not known or set(known) - set(self._present):
            return None
        return [path for path, digest in self._present.items() if known.get(path) != digest]

    def note(self) -> None:
        """It has passed with the files that were there when this began."""
        self._file.write_text(json.dumps(self._present), encoding="utf-8")
