# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Processes that join a running cluster: with their own supervisor in its namespaces, with which they end.

Their files are in a folder of the cluster's, their logs beside those of the cluster.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FleetError
from ..settings import Cluster, process_environment
from . import supervisor
from .lifecycle import entering, process_words

END_TIMEOUT = 20.0  # seconds
# Without its supervisor a process would be unknown.
BOUND = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True)
class Group:
    """Some processes in one cluster's namespaces, started and stopped together."""

    name: str
    cluster: Cluster
    state: Path

    @property
    def folder(self) -> Path:
        """Files of the group; they go with the cluster."""
        return self.state / self.cluster.name / self.name

    @property
    def logs(self) -> Path:
        """Where the logs are, a file for each process."""
        return self.state / self.cluster.name / "log"

    @property
    def _file(self) -> Path:
        return self.folder / "processes.json"

    def supervisors(self) -> list[int]:
        """Ids of the supervisors, of which there is one if the group runs, whichever checkout started it."""
        entries = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in entries if self._is_supervisor(process_words(pid))]

    def _is_supervisor(self, words: list[str]) -> bool:
        # the first word is Python; nsenter, which waits for it, has the same ones further behind
        return words[2:3] == [str(self._file)] and words[1].endswith("clusters/supervisor.py")

    def start(self, entries: Sequence[dict[str, Any]]) -> bool:
        """Start the processes (as in clusters.processes); restart them if others run under this name. False if they run already."""
        bound = [{**entry, "argv": [*BOUND, *entry["argv"]]} for entry in entries]
        text = json.dumps(bound, indent=1)
        if self.supervisors() and self._file.read_text() == text:
            return False
        self.stop()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file.write_text(text)
        self._launch()
        return True

    def resume(self) -> bool:
        """Start what was stopped. False if nothing was ever started here."""
        if not self._file.exists():
            return False
        if not self.supervisors():
            self._launch()
        return True

    def _launch(self) -> None:
        with (self.logs / f"{self.name}.log").open("a") as log:
            subprocess.Popen(
                [*entering(self.state, self.cluster), *self._command()],
                env=process_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )

    def stop(self) -> bool:
        """Kill the processes. False if none runs."""
        found = self.supervisors()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + END_TIMEOUT
        while left := self.supervisors():
            if time.monotonic() > end:
                raise FleetError(f"{self.name} of {self.cluster.name} does not end: process {left[0]}")
            time.sleep(0.05)
        return bool(found)

    def _command(self) -> list[str]:
        return [sys.executable, str(Path(supervisor.__file__)), str(self._file), str(self.logs)]
