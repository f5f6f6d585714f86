# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume for outputs, as a container has it, and its files in pieces: the control node never has more than a batch of them in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.sizes import readable
from ..flower import in_pod
from ..kube.client import Cluster
from ..programs import files_program

PIECE = 8 * 2**20  # bytes in one request
MOST = 500  # files in one request
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
            raise ClusterError(f"{where}: {action} failed: {output.last}")
        answers = output.objects()
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
            if room == 0 or len(batch) >= MOST:
                yield batch
                batch, room = [], most
            if offset >= total:
                break
    if batch:
        yield batch


class Progress:
    """How far it is, said now and then.

    Args:
        say: shows it.
        total: files there are to send.
    """

    def __init__(self, say: Callable[[str], None], total: int) -> None:
        self._say, self._total = say, total
        self._files = self._size = 0
        self._spoken = time.monotonic()

    def add(self, size: int, files: int = 0) -> None:
        """So many more bytes were sent, and so many files are complete with them."""
        self._size += size
        self._files += files
        if time.monotonic() >= self._spoken + _STEADY:
            self._spoken = time.monotonic()
            self._say(f"outputs of runs: {self._files} of {self._total} files, {readable(self._size)}")
