# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume for outputs, from one hub to another: what is new or differs by size or time is sent, and what is gone is removed.

The files come through the control node in pieces, and none of them is on its disk.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.sizes import readable
from ..flower import in_pod
from ..kube.client import Cluster
from . import files_program

PIECE = 8 * 2**20
_FILES = 500  # in one request
_SECONDS = 600
_SILENCE = 90.0
_STEADY = 10.0  # seconds between two words about the progress


@dataclass(frozen=True)
class Place:
    """A container that has the volume for outputs."""

    cluster: Cluster
    namespace: str
    pod: str
    container: str

    def ask(self, action: str, data: bytes = b"", **request: Any) -> list[dict[str, Any]]:
        """Have C(files_program) do something; its answers.

        Raises:
            ClusterError: it could not.
        """
        output = in_pod.run(
            self.cluster, self.namespace, self.pod, self.container, files_program, {"action": action, **request},
            seconds=_SECONDS, data=data, silence=_SILENCE if action == "list" else None,
        )  # fmt: skip
        where = f"{self.cluster.name}: the outputs of runs, in pod {self.namespace}/{self.pod}"
        if output.rc:
            raise ClusterError(f"{where}: {action} failed: {output.said.splitlines()[-1]}")
        answers: list[dict[str, Any]] = [json.loads(line) for line in output.answers]
        for one in answers:
            if one.get("fault"):
                raise ClusterError(f"{where}: {one['fault']}")
        return answers

    def files(self) -> Files:
        """What is on the volume."""
        found = Files()
        for answer in self.ask("list"):
            found.known.update({path: (size, changed) for path, size, changed in answer["files"]})
            found.others += answer["others"]
        return found


@dataclass
class Files:
    """What is on a volume.

    Attributes:
        known: path -> size and time of a file.
        others: paths of links, devices and what cannot be read, which are not copied.
    """

    known: dict[str, tuple[int, int]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


@dataclass
class Copied:
    """What came of it.

    Attributes:
        files: how many were sent.
        size: bytes that were sent.
        removed: how many were removed.
        left: how many cannot be copied, since they are links or cannot be read.
        changing: how many changed while they were read; the next copy has them.
    """

    files: int = 0
    size: int = 0
    removed: int = 0
    left: int = 0
    changing: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was."""
        return bool(self.files or self.removed)

    @property
    def words(self) -> str:
        """For people."""
        said = f"{self.files} files of outputs, {readable(self.size)}"
        said += f", {self.removed} removed" if self.removed else ""
        said += f", {self.changing} that are being written follow with the next copy" if self.changing else ""
        return said + (f", {self.left} left out, which are links or cannot be read" if self.left else "")


def wanted(source: Files, target: Files) -> tuple[list[str], list[str]]:
    """Paths to send, and paths to remove. Pure."""
    send = [path for path, facts in source.known.items() if target.known.get(path) != facts]
    gone = [path for path in [*target.known, *target.others] if path not in source.known]
    return send, gone


def batches(paths: Sequence[str], known: Mapping[str, tuple[int, int]], most: int = PIECE) -> Iterator[list[list[Any]]]:
    """Pieces of files, [path, offset, size, size of the file, time], as many in a batch as are sent at once. Pure."""
    batch: list[list[Any]] = []
    room = most
    for path in paths:
        total, changed = known[path]
        offset = 0
        while True:
            size = min(total - offset, room)
            batch.append([path, offset, size, total, changed])
            offset += size
            room -= size
            if room == 0 or len(batch) >= _FILES:
                yield batch
                batch, room = [], most
            if offset >= total:
                break
    if batch:
        yield batch


def copy(source: Place, target: Place, say: Callable[[str], None]) -> Copied:
    """Make the target's volume what the source's is.

    Raises:
        ClusterError: it could not be done. What has arrived stays, and is not sent again.
    """
    there = source.files()
    target.ask("tidy")
    send, gone = wanted(there, target.files())
    done = Copied(left=len(there.others))
    for start in range(0, len(gone), _FILES):
        target.ask("remove", paths=gone[start : start + _FILES])
    done.removed = len(gone)
    broken: set[str] = set()
    spoken = time.monotonic()
    for batch in batches(send, there.known):
        pieces = [piece for piece in batch if piece[0] not in broken]
        (answer,) = source.ask("pack", pieces=[piece[:3] for piece in pieces])
        data = base64.b64decode(answer["data"])
        if answer["sizes"] != [piece[2] for piece in pieces]:
            short = {piece[0] for piece, size in zip(pieces, answer["sizes"]) if size != piece[2]}
            broken |= short
            data, pieces = _without(data, pieces, answer["sizes"], short)
        target.ask("unpack", data, pieces=pieces, sha256=_digest(data))
        done.size += len(data)
        done.files += sum(1 for _path, offset, size, total, _changed in pieces if offset + size == total)
        if time.monotonic() >= spoken + _STEADY:
            spoken = time.monotonic()
            say(f"outputs of runs: {done.files} of {len(send)} files, {readable(done.size)}")
    done.changing = len(broken)
    target.ask("tidy")
    return done


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _without(
    data: bytes, pieces: Sequence[list[Any]], sizes: Sequence[int], short: set[str]
) -> tuple[bytes, list[list[Any]]]:
    """The pieces of the other files."""
    kept, at, left = bytearray(), 0, []
    for piece, size in zip(pieces, sizes):
        if piece[0] not in short:
            kept += data[at : at + size]
            left.append(piece)
        at += size
    return bytes(kept), left
