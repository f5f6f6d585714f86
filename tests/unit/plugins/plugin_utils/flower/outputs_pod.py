# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of outputs with its reader: the real program in a process, whose connection can be cut."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.pod_python import Command, Server

server = cache(Server)
PIECE = 32 * 1024  # as a websocket brings them
CUT_FROM = 256 * 1024


class Hub:
    """Runs programs where a container would.

    C(cuts): after how many bytes that come back each of the next connections is lost. C(send_cuts): how many bytes of those that
    are sent are lost at the end of each of the next connections that send more than C(CUT_FROM); the answer is lost as well.
    """

    name = "hub"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cuts: list[int] = []
        self.send_cuts: list[int] = []
        self.sent = 0
        self.connections = 0
        self.peak = 0  # KiB of the program

    def exec(self, namespace, pod, container, command, *, stdin, timeout, on_stdout=None, silence=None):
        """See C(Cluster.exec)."""
        del namespace, pod, container, timeout, silence
        self.connections += 1
        cut = self.cuts.pop(0) if self.cuts else None
        env = {**os.environ, "FLOWER_OUTPUTS_DIR": str(self.root), "FLOWER_OUTPUTS_MIN_FREE": "512Mi"}
        python, option, code = command
        assert (python, option) == ("python", "-c")
        with Command(server(), code, env) as process:
            lost = self.send_cuts.pop(0) if self.send_cuts and len(stdin) > CUT_FROM else 0
            self.sent += len(stdin) - lost
            process.stdin.write(stdin[: len(stdin) - lost])
            process.stdin.close()
            if lost:
                process.wait()
                raise Unreachable("hub: the connection was cut.")
            got, pieces, kept = 0, 0, bytearray()
            try:
                while data := process.stdout.read1(PIECE):
                    if cut is not None and got + len(data) > cut:
                        data = data[: max(cut - got, 0)]
                        if data and on_stdout:
                            on_stdout(data)
                        raise Unreachable("hub: the connection was cut.")
                    got += len(data)
                    pieces += 1
                    if pieces % 256 == 0:
                        self.peak = max(self.peak, peak_of(process.pid))
                    if on_stdout:
                        on_stdout(data)
                    else:
                        kept += data
                process.wait()
            except BaseException:
                process.kill()
                raise
            return ExecResult(bytes(kept), process.stderr.read(), process.returncode)


def peak_of(pid: int) -> int:
    """The largest size of a process so far, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


class Cli:
    """What a reader needs of the command line."""

    namespace = "flower"

    def __init__(self, root: Path) -> None:
        self.cluster = Hub(root)


def reader_of(root: Path) -> Reader:
    """The reader of a folder."""
    reader = Reader(Cli(root))  # type: ignore[arg-type]
    reader._pod = "serverapp-0"
    reader.forget_pod = lambda: None  # type: ignore[method-assign]
    return reader


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that nothing compresses."""
    return random.Random(seed).randbytes(size)


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(path: Path, data: bytes = b"x") -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
