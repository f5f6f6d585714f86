# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch the outputs of a run: streamed, verified, and continued where a connection broke.

Neither side has a whole file in memory. What is on the disk already is offered with its SHA-256; the reader sends what is missing when its
own file begins with the same, and everything otherwise. A file counts when the hash of what was written equals that of what was read.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.digests import digest
from ..base.errors import ClusterError
from ..base.sizes import readable
from ..kube.api_errors import ApiError, Forbidden, Unauthorized, Unreachable
from ..programs import outputs_program
from . import in_pod
from .cli import FlowerError
from .outputs_frames import Frames
from .outputs_reader import Contents, Reader, shown
from .outputs_staging import Staging, summed

#: Seconds between attempts that brought nothing; after the last of them it is given up.
PAUSES = (1, 2, 5, 10, 20)
_SECONDS = 24 * 3600  # of one connection
SILENCE = 90  # seconds without a frame; the reader says something every two seconds, or waits for its disk
_STEADY = 10.0  # seconds between two words about the progress
FORMAT = 1


class Changed(FlowerError):
    """The run's files are still being changed."""


@dataclass
class Fetched:
    """What came of it.

    Attributes:
        path: the run's folder on the control node.
        changed: whether something was fetched.
        files: path -> {size, sha256}.
        attempts: connections that it took.
        received: bytes that came over the network.
    """

    path: str
    changed: bool
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    attempts: int = 0
    received: int = 0

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(int(one["size"]) for one in self.files.values())

    @property
    def sha256(self) -> str:
        """One hash for all files with their paths."""
        return digest(self.files)


@dataclass
class _There:
    """What the control node has of a file: bytes, their hash, and whether the file was complete once."""

    size: int = 0
    summed: Any = field(default_factory=hashlib.sha256)
    whole: bool = False


class Fetching:
    """Fetches the files of one run.

    Args:
        reader: the other side.
        run_id: the run.
        contents: its files.
        directory: the user's folder; the run gets one of its own in it.
        say: shows the progress.
    """

    def __init__(
        self, reader: Reader, run_id: str, contents: Contents, directory: Path, say: Callable[[str], None]
    ) -> None:
        self.reader = reader
        self.run_id = run_id
        self.sizes = contents.sizes
        self.left_out = contents.left_out
        self.say = say
        self.staging = Staging(directory, run_id)
        self.done: dict[str, dict[str, Any]] = {}
        self.received = self.attempts = 0
        # Bytes of which both sides have the same. What was only received may be damaged, and would be received without a limit.
        self.agreed = 0
        self._spoken = time.monotonic()

    def fetch(self, facts: Mapping[str, Any]) -> Fetched:
        """Fetch everything, or find that it was fetched before.

        Args:
            facts: what the manifest says of the run.

        Raises:
            ClusterError: it could not be completed. What was fetched is kept, and continued the next time.
        """
        before = self.staging.fetched_before()
        if before is not None:
            return self._compare(before)
        with self.staging.taken():
            self.staging.refuse_too_little_room(self.sizes)
            self._transfer(list(self.sizes), self._from_disk, _Writer)
            manifest = {"format": FORMAT, **facts, "run_id": self.run_id, "files": self.done, "left_out": self.left_out}
            self.staging.finish(manifest)
        return self._result(True)

    def _result(self, changed: bool) -> Fetched:
        return Fetched(str(self.staging.target), changed, dict(sorted(self.done.items())), self.attempts, self.received)

    def _compare(self, before: Mapping[str, int]) -> Fetched:
        """Verify that what was fetched before is what the outputs are.

        Raises:
            FlowerError: it is not.
        """
        for path in sorted({*before, *self.sizes}):
            if path not in before:
                raise self.staging.occupied(f"{shown(path)} is missing in it")
            if path not in self.sizes:
                raise self.staging.occupied(f"it has {shown(path)}, which is not among the outputs")
            if before[path] != self.sizes[path]:
                raise self.staging.occupied(f"{shown(path)} has another size")
        self._transfer(list(self.sizes), lambda path: _whole(self.staging.target / path), _Verifier)
        return self._result(False)

    def _from_disk(self, path: str) -> _There:
        """What of a file is in the staging folder."""
        found = self.staging.staged(path)
        if found is None or not 0 < found.stat().st_size <= self.sizes[path]:
            return _There()
        there = _whole(found)
        there.whole = found == self.staging.files / path
        return there

    def _transfer(
        self,
        wanted: Sequence[str],
        look: Callable[[str], _There],
        receiver: Callable[[Fetching, Sequence[str], Mapping[str, _There]], _Receiver],
    ) -> None:
        """Connect until every file is done.

        Raises:
            ClusterError: several attempts in a row brought nothing; or something that no attempt will change.
        """
        in_vain = 0
        while left := [path for path in wanted if path not in self.done]:
            with self.staging.faults("read what was fetched before"):
                there = {path: look(path) for path in left}
            before = (len(self.done), self.agreed)
            trouble: ClusterError
            try:
                self.attempts += 1
                self._connect(left, there, receiver(self, left, there))
                continue
            except (Forbidden, Unauthorized, FlowerError):
                raise
            except (Unreachable, ApiError) as error:
                trouble = error
                self.reader.forget_place()
            in_vain = 0 if (len(self.done), self.agreed) != before else in_vain + 1
            if in_vain >= len(PAUSES):
                raise FlowerError(
                    f"the outputs of run {self.run_id} could not be fetched completely: {trouble.message} "
                    f"{len(self.done)} of {len(self.sizes)} files are there, and what was fetched is in {self.staging.folder}: run this again to "
                    "continue, or delete that folder"
                )
            self.say(
                f"{self.reader.cluster.name}: fetching the outputs of run {self.run_id} is continued, because {trouble.message}"
            )
            time.sleep(PAUSES[in_vain])

    def _connect(self, left: Sequence[str], there: Mapping[str, _There], receiver: _Receiver) -> None:
        """One connection.

        Raises:
            ClusterError: it ended before everything was received.
        """
        listed = [[path, there[path].size, there[path].summed.copy().hexdigest()] for path in left]
        request = {"do": "send", "run": self.run_id, "files": listed}
        place = self.reader.place()
        cluster, namespace = self.reader.cluster, self.reader.namespace
        frames = Frames(cluster.name)

        def receive(data: bytes) -> None:
            for frame in frames.feed(data):
                receiver.take(frame)
            self._progress()

        try:
            result = cluster.exec(
                namespace,
                place.pod,
                place.container,
                ["python", "-c", in_pod.LOADER],
                stdin=in_pod.stdin_of(outputs_program, request),
                timeout=_SECONDS,
                on_stdout=receive,
                silence=SILENCE,
            )
        finally:
            receiver.close()
        if frames.done and any(path not in self.done for path in left):
            raise receiver.lost()
        if not frames.done:
            said = result.stderr.decode("utf-8", "replace").strip()[-500:] or "it said nothing"
            raise Unreachable(
                f"{cluster.name}: the program that sends outputs in pod {namespace}/{place.pod} ended early, with code {result.rc}: {said}."
            )

    def _progress(self) -> None:
        if time.monotonic() >= self._spoken + _STEADY:
            self._spoken = time.monotonic()
            size = sum(int(one["size"]) for one in self.done.values())
            self.say(
                f"outputs of run {self.run_id}: {len(self.done)} of {len(self.sizes)} files, {readable(size)} of "
                f"{readable(sum(self.sizes.values()))} complete; {readable(self.received)} received"
            )


def _whole(path: Path) -> _There:
    size, found = summed(path)
    return _There(size, found)


class _Receiver:
    """Takes the frames of one connection, file by file.

    Args:
        fetching: gets what is done.
        left: paths, in the order in which they were requested.
        there: what the control node has of each.
    """

    def __init__(self, fetching: Fetching, left: Sequence[str], there: Mapping[str, _There]) -> None:
        self.fetching = fetching
        self.staging = fetching.staging
        self.left = left
        self.there = there
        self.number = -1
        self.size = 0
        self.written = 0
        self.summed: Any = None
        self.is_open = False

    def take(self, frame: dict[str, Any] | bytes) -> None:
        """Take a frame.

        Raises:
            Unreachable: it does not follow the one before.
            FlowerError: the file is not what was listed; or the disk is full.
        """
        try:
            self._take(frame)
        except (KeyError, TypeError, IndexError):
            raise self.lost() from None

    def _take(self, frame: dict[str, Any] | bytes) -> None:
        if isinstance(frame, bytes):
            if not self.is_open or self.written + len(frame) > self.size:
                raise self.lost()
            self.fetching.received += len(frame)
            self.summed.update(frame)
            self.written += len(frame)
            self.write(frame)
        elif "fault" in frame:
            self.number = frame["file"]
            raise Changed(self._still(shown(str(frame["fault"]))))
        elif "start" in frame:
            self._begin(frame)
        elif "end" in frame:
            self._end(frame)

    @property
    def path(self) -> str:
        """The file that is being received."""
        return self.left[self.number]

    def _begin(self, frame: Mapping[str, Any]) -> None:
        self.number += 1
        if self.is_open or frame["file"] != self.number or self.number >= len(self.left):
            raise self.lost()
        there = self.there[self.path]
        start, self.size = frame["start"], frame["size"]
        if start not in (0, there.size):
            raise self.lost()
        if self.size != self.fetching.sizes[self.path]:
            raise Changed(self._still("its size has changed"))
        ready = sum(int(one["size"]) for one in self.fetching.done.values())
        self.fetching.agreed = max(self.fetching.agreed, ready + start)
        self.written = start
        self.summed = there.summed if start else hashlib.sha256()
        self.is_open = True
        self.begin(start)

    def _end(self, frame: Mapping[str, Any]) -> None:
        if not self.is_open or frame["end"] != self.number:
            raise self.lost()
        if not frame["same"]:
            raise Changed(self._still("it was changed while it was read"))
        found = self.summed.hexdigest()
        if self.written != self.size or found != frame["sha256"]:
            raise self.lost()
        self.is_open = False
        self.end()
        self.fetching.done[self.path] = {"size": self.size, "sha256": found}

    def begin(self, start: int) -> None:
        """A file comes, from this offset."""

    def write(self, data: bytes) -> None:
        """A part of it."""

    def end(self) -> None:
        """It is complete and verified."""

    def close(self) -> None:
        """The connection ended, perhaps within a file."""

    def _still(self, why: str) -> str:
        name = shown(self.path) if 0 <= self.number < len(self.left) else "a file"
        return (
            f"{name} of run {self.fetching.run_id} is not what was listed a moment ago: {why}. Something is still writing to these outputs; "
            "fetch them again when it is done"
        )

    def lost(self) -> Unreachable:
        """The error that something is missing."""
        return Unreachable(f"{self.fetching.reader.cluster.name}: a part of the outputs was lost on the way.")


class _Writer(_Receiver):
    """Writes to the staging folder."""

    _file = -1

    def begin(self, start: int) -> None:
        """Continue the partial file; one that was verified before, and has all of it, stays where it is."""
        there = self.there[self.path]
        self._file = -1
        if not (there.whole and start == there.size == self.size):
            self._file = self.staging.begin(self.path, start)

    def write(self, data: bytes) -> None:
        """Append."""
        with self.staging.faults(f"write {shown(self.path)}"):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]

    def end(self) -> None:
        """Give it its name."""
        if self._file >= 0:
            file, self._file = self._file, -1
            self.staging.complete(self.path, file)

    def close(self) -> None:
        """Keep what was received."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _Verifier(_Receiver):
    """Accepts nothing but what is there."""

    def begin(self, start: int) -> None:
        """The reader would begin at the end if the file were the same."""
        if start != self.size:
            raise self.staging.occupied(f"{shown(self.path)} has other content")
