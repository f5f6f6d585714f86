# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy that runs on this machine while tests use it: what a real one has in common with another."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

_START = 30


class LocalProxy:
    """A proxy with one port for each kind of proxy that a site may have.

    Args:
        towards: a host in whose direction the address of this machine is taken.
        kinds: its ports by name.
    """

    def __init__(self, towards: str, kinds: Iterable[str]) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            way.connect((towards, 9))
            self.host = str(way.getsockname()[0])
        # Where an unprivileged user may read, too.
        self.folder = Path(tempfile.mkdtemp(prefix="flower-proxy-"))
        self.folder.chmod(0o755)
        self.ports = {kind: self._free() for kind in kinds}
        self.env = dict(os.environ)
        self._processes: list[subprocess.Popen[bytes]] = []

    def commands(self) -> list[list[str]]:
        """The processes, which stay in the foreground."""
        raise NotImplementedError

    def address(self, kind: str) -> str:
        """Host and port of a kind of proxy."""
        return f"{self.host}:{self.ports[kind]}"

    def _free(self) -> int:
        with socket.socket() as one:
            one.bind((self.host, 0))
            return int(one.getsockname()[1])

    @staticmethod
    def package(tool: str) -> Path:
        """The folder of the Debian package that a program of tools/ unpacks."""
        made = subprocess.run([sys.executable, f"tools/{tool}.py"], capture_output=True, text=True, check=True)
        return Path(made.stdout.strip().splitlines()[-1])

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self.folder / "output").open("ab") as sink:
            self._processes = [subprocess.Popen(one, env=self.env, stdout=sink, stderr=sink) for one in self.commands()]
        deadline = time.monotonic() + _START
        while True:
            try:
                for port in self.ports.values():
                    socket.create_connection((self.host, port), 2).close()
                return
            except OSError:
                said = (self.folder / "output").read_text(errors="replace")[-1500:]
                alive = all(one.poll() is None for one in self._processes)
                assert alive and time.monotonic() < deadline, f"the proxy does not start: {said}"
                time.sleep(0.2)

    def stop(self) -> None:
        """Kill it: connections break."""
        for one in self._processes:
            one.kill()
            one.wait()
        self._processes = []

    def __enter__(self) -> None:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder)
