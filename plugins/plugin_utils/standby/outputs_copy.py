# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume for outputs, from one hub to another: what is new or differs by size or time is sent, and what is gone is removed.

The files come through the control node in pieces, and none of them is on its disk.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..backup.output_choice import run_of
from ..backup.volume_files import MOST, Files, Place, Progress, batches
from ..base.sizes import readable
from ..flower.outputs_table import LIKELY
from ..programs.outputs_program import INPUTS


@dataclass
class Copied:
    """What came of it.

    Attributes:
        files: how many were sent.
        size: bytes that were sent.
        removed: how many were to be removed.
        kept: how many of them could not be.
        foreign: how many others the standby's own claim has.
        left: how many cannot be copied, since they are links or cannot be read.
        changing: how many changed while they were read; the next copy has them.
        same: whether both volumes are one, so that nothing was to be done.
    """

    files: int = 0
    size: int = 0
    removed: int = 0
    kept: int = 0
    foreign: int = 0
    left: int = 0
    changing: int = 0
    same: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was."""
        return bool(self.files or self.removed > self.kept)

    @property
    def words(self) -> str:
        """For people."""
        if self.same:
            return "no outputs, since both claims have the same storage"
        said = f"{self.files} files of outputs, {readable(self.size)}"
        said += f", {self.removed - self.kept} removed" if self.removed else ""
        said += f", {self.kept} that cannot be removed" if self.kept else ""
        said += f", {self.foreign} on the standby's own claim that no run has written stay" if self.foreign else ""
        said += f", {self.changing} that are being written follow with the next copy" if self.changing else ""
        return said + (f", {self.left} left out, which are links or cannot be read" if self.left else "")


def wanted(source: Files, target: Files) -> tuple[list[str], list[str]]:
    """Paths to send, and paths to remove. Pure."""
    send = [path for path, facts in source.known.items() if target.known.get(path) != facts]
    gone = [path for path in [*target.known, *target.others] if path not in source.known]
    return send, gone


def copy(source: Place, target: Place, say: Callable[[str], None], *, shared: bool = False) -> Copied:
    """Make the target's volume what the source's is.

    Args:
        source: that of the hub.
        target: that of the standby.
        say: shows the progress.
        shared: whether the target's is a claim of the user, which may have more than outputs of runs: that stays.

    Raises:
        ClusterError: it could not be done. What has arrived stays, and is not sent again.
    """
    if shared and is_same(source, target):
        return Copied(same=True)
    there = source.files()
    target.ask("tidy")
    send, gone = wanted(there, target.files())
    done = Copied(left=len(there.others))
    if shared:
        tops = {_top(path) for path in there.known}
        ours = [path for path in gone if is_of_runs(path) or _top(path) in tops]
        gone, done.foreign = ours, len(gone) - len(ours)
    (room,) = target.ask("room")
    first = gone if sum(there.known[path][0] for path in send) > room["free"] else in_the_way(send, gone)
    _remove(target, first, done)
    broken = _send(source, target, send, there.known, done, say)
    if broken:  # once more, from what they are now: one that an app appends to all the time would never be copied
        known = source.files().known
        broken = _send(source, target, [path for path in broken if path in known], known, done, say)
    done.changing = len(broken)
    # Afterwards: what replaces them, such as the next checkpoint of a run, is there now. Where it is still being written, the next copy does it.
    writing, removed = {_top(path) for path in broken}, {*first}
    _remove(target, [path for path in gone if path not in removed and _top(path) not in writing], done)
    target.ask("tidy")
    return done


def is_same(source: Place, target: Place) -> bool:
    """Whether two volumes are one, such as an export that both clusters mount: what an app writes between two lists of its files would be removed
    as if it were gone."""
    token = uuid.uuid4().hex
    target.ask("probe", token=token, do="leave")
    try:
        (answer,) = source.ask("probe", token=token, do="look")
    finally:
        target.ask("probe", token=token, do="take")
    return bool(answer["seen"])


def is_of_runs(path: str) -> bool:
    """Whether runs, or this collection for them, have written a file. Pure."""
    return path.startswith(f"{INPUTS}/") or LIKELY.fullmatch(run_of(path)) is not None


def in_the_way(send: Sequence[str], gone: Sequence[str]) -> list[str]:
    """Of what is gone: files in folders whose place a file takes. Pure."""
    files = {*send}
    return [path for path in gone if any(path[:at] in files for at, letter in enumerate(path) if letter == "/")]


def _top(path: str) -> str:
    """The folder of a run, or of inputs."""
    return path.partition("/")[0]


def _remove(target: Place, paths: Sequence[str], done: Copied) -> None:
    for start in range(0, len(paths), MOST):
        (answer,) = target.ask("remove", paths=paths[start : start + MOST])
        done.kept += answer["kept"]
    done.removed += len(paths)


def _send(
    source: Place, target: Place, send: Sequence[str], known: Mapping[str, tuple[int, int]], done: Copied, say: Callable[[str], None]
) -> list[str]:
    """Send files; those that changed since they were listed, of which the target keeps the version that it has."""
    broken: set[str] = set()
    progress = Progress(say, len(send))
    for batch in batches(send, known):
        pieces = [piece for piece in batch if piece[0] not in broken]
        (answer,) = source.ask("pack", pieces=pieces)
        data = base64.b64decode(answer["data"])
        if answer["sizes"] != [piece[2] for piece in pieces]:
            short = {piece[0] for piece, size in zip(pieces, answer["sizes"]) if size != piece[2]}
            broken |= short
            data, pieces = _without(data, pieces, answer["sizes"], short)
        target.ask("unpack", data, pieces=pieces, sha256=_digest(data))
        whole = sum(1 for _path, offset, size, total, _changed in pieces if offset + size == total)
        done.size += len(data)
        done.files += whole
        progress.add(len(data), whole)
    return sorted(broken)


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
