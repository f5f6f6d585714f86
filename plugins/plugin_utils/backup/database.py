# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SuperLink's database, out of a pod and into one, in pieces: neither the control node nor the pod has all of it in memory."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..base.errors import ClusterError
from ..flower import in_pod
from ..kube.client import Cluster
from ..programs import database_program

_PIECE = 8 * 2**20
_SECONDS = 3600  # of a copy, or of the SHA-256, of a large database
_PIECE_SECONDS = 120
_SILENCE = 90.0  # seconds without a sign of life


@dataclass(frozen=True)
class Volume:
    """A container that has the SuperLink's volume at C(/data)."""

    cluster: Cluster
    namespace: str
    pod: str
    container: str = "superlink"

    def ask(self, action: str, *, seconds: float = _PIECE_SECONDS, data: bytes = b"", **request: Any) -> dict[str, Any]:
        """Have C(database_program) do something; its answer.

        Raises:
            ClusterError: it could not.
        """
        output = in_pod.run(
            self.cluster, self.namespace, self.pod, self.container, database_program,
            {"action": action, **request}, seconds=seconds, data=data, silence=_SILENCE,
        )  # fmt: skip
        where = f"{self.cluster.name}: the database of the SuperLink, in pod {self.namespace}/{self.pod}"
        if output.rc:
            raise ClusterError(f"{where}: {action} failed: {output.last}")
        answer = output.object()
        if answer.get("fault"):
            raise ClusterError(f"{where}: {answer['fault']}")
        return answer


class Copy(io.RawIOBase):
    """A copy of the database, which is read piece by piece. As a context manager it removes the copy from the volume.

    Args:
        use: what the copy is for, one of C(database_program.COPIES).

    Attributes:
        size: bytes.
        sha256: its SHA-256.
    """

    def __init__(self, volume: Volume, use: str = "backup") -> None:
        self._volume = volume
        self._use = use
        self._at = 0
        self._rest = b""
        self._digest = hashlib.sha256()

    def __enter__(self) -> Copy:
        try:
            answer = self._volume.ask("copy", seconds=_SECONDS, use=self._use)
        except ClusterError:
            with contextlib.suppress(ClusterError):  # it may be there although its answer was lost; as large as the database, beside it
                self._volume.ask("end", use=self._use)
            raise
        self.size, self.sha256 = int(answer["size"]), str(answer["sha256"])
        return self

    def __exit__(self, *_error: object) -> None:
        self._volume.ask("end", use=self._use)

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises:
            ClusterError: what was read is not the copy.
        """
        if not self._rest and self._at < self.size:
            answer = self._volume.ask("send", use=self._use, offset=self._at, size=_PIECE)
            self._rest = base64.b64decode(answer["data"])
            self._at += len(self._rest)
            self._digest.update(self._rest)
            if not self._rest or (self._at >= self.size and self._digest.hexdigest() != self.sha256):
                raise ClusterError("the copy of the database changed while it was read. Another copy may be running; run again when it is complete")
        cut = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:cut], self._rest[cut:]
        return piece


def put(
    volume: Volume, facts: Mapping[str, Any], data: BinaryIO, *, replace: bool = False, assure: Callable[[], None] = lambda: None
) -> bool:
    """Put a database on the volume; returns whether it was not there yet.

    Args:
        facts: its C(size) and C(sha256).
        data: its content.
        replace: whether another one that is there is replaced; otherwise it is an error.
        assure: called right before it is put in its place; raises if it must not be.
    """
    wanted = {"size": facts["size"], "sha256": facts["sha256"], "replace": replace}
    if volume.ask("look", seconds=_SECONDS, **wanted)["done"]:
        return False
    at = 0
    while at < facts["size"]:
        piece = data.read(min(_PIECE, facts["size"] - at))
        if not piece:
            raise ClusterError("the received database is shorter than expected. Choose another backup, or run again")
        volume.ask("receive", data=piece, offset=at, size=len(piece))
        at += len(piece)
    assure()
    volume.ask("finish", seconds=_SECONDS, **wanted)
    return True
