# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follow a run to its end, even if the connection, the API server or the SuperLink is unavailable for a while.

A program in the pod polls the SuperLink (C(pod_program.poll)) and reports the state of the run and the new lines of its log. It is started again
every three minutes, and after an interruption; then it goes on after the last line that was received.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..kube.api_errors import ApiError, Forbidden, Unauthorized, Unreachable
from ..programs import pod_program
from . import in_pod
from .cli import CONNECTION, CONTAINER, FlowerCLI, FlowerError, listing, read_answer
from .run_log import LOG_LINES, clean_log, without_repeats
from .runs import Run, UnknownRun, known_run

# Seconds of one exec. If the connection is lost, the program in the pod may go on for that long.
_SLICE = 180.0
# Seconds without a report after which a connection is lost: a poll of a SuperLink that is slow takes a minute.
_SILENCE = 90.0
# Seconds between two polls, at the beginning and after ten minutes. A poll costs 0.1 s of CPU in the pod.
_PAUSES = (2.0, 10.0)
_RETRIES = (1, 1, 2, 4, 8, 15)  # seconds before the next exec, after so many failures
_MOST_LINES = 1000  # of the log in one report
# Newest runs, among which those before a pending run are looked for. These are only shown, and listed every 15 s, which costs, see C(cli.listing).
_OTHERS = 200


@dataclass(frozen=True)
class RunReport:
    """What is known of a run at one time.

    Attributes:
        run: the run.
        online: number of SuperNodes that are online; None when it is not known.
        nodes: number of SuperNodes that are registered.
        others: runs that are not finished and were submitted before; None when they were not read.
        online_ids: ids of the SuperNodes that are online; empty when it is not known.
    """

    run: Run
    online: int | None = None
    nodes: int = 0
    others: tuple[Run, ...] | None = None
    online_ids: tuple[str, ...] = ()


class Watch(Protocol):
    """What is done with the news of a run."""

    def log(self, lines: Sequence[str], left_out: int) -> None:
        """New lines of the log, and how many before them are left out."""

    def report(self, report: RunReport) -> None:
        """The state of the run."""

    def trouble(self, text: str) -> None:
        """The run could not be read; it is tried again."""


def parse_report(run: Run, report: Mapping[str, Any]) -> RunReport:
    """Read a report of the program in the pod."""
    nodes, runs = report.get("nodes"), report.get("runs")
    online = [str(node) for node, status in (nodes or {}).items() if status == "online"]
    return RunReport(
        run,
        None if nodes is None else len(online),
        sum(status != "unregistered" for status in (nodes or {}).values()),
        None if runs is None else ahead(runs, run.run_id),
        tuple(online),
    )


def ahead(active: Sequence[Mapping[str, Any]], run_id: str) -> tuple[Run, ...]:
    """Of runs that are not finished, those that were submitted before one of them, the oldest first."""
    own = next((str(one.get("pending-at")) for one in active if str(one.get("run-id")) == run_id), "")
    before = [one for one in active if str(one.get("run-id")) != run_id and (str(one.get("pending-at")) <= own or not own)]
    before.sort(key=lambda one: str(one.get("pending-at")))
    return tuple(Run(str(one["run-id"]), str(one.get("status", "")), app=str(one.get("fab-id") or "")) for one in before)


class Following:
    """Follows one run.

    Attributes:
        run: its last known state.
        trouble: why it could not be read the last time; empty when it could.
        lines: the last lines of its log, cleaned.
    """

    def __init__(self, cli: FlowerCLI, run_id: str, watch: Watch) -> None:
        self.cli, self.watch, self.run = cli, watch, Run(run_id)
        self.trouble = ""
        self.lines: deque[str] = deque(maxlen=LOG_LINES)
        self._seen = self._failures = 0

    def follow(self, seconds: float) -> Run:
        """Wait until the run is finished, at most C(seconds); returns its last known state. Without any time it is read once.

        The run continues while it cannot be read, so all of that is tried again. Only a missing right and an unknown run end it.

        Raises:
            ClusterError: a right is missing, or the SuperLink does not have the run.
        """
        begun = time.monotonic()
        while True:
            passed = time.monotonic() - begun
            try:
                self._poll(max(min(_SLICE, seconds - passed), 0), min(max(passed / 60, _PAUSES[0]), _PAUSES[1]))
                self._failures = 0
            except (Forbidden, Unauthorized, UnknownRun):
                raise
            except (Unreachable, ApiError, FlowerError) as error:
                self._fail(error)
            left = seconds - (time.monotonic() - begun)
            if self.run.finished or left <= 0:
                return self.run
            time.sleep(min(_RETRIES[min(self._failures, len(_RETRIES) - 1)], left))

    def _fail(self, error: ClusterError) -> None:
        self._failures += 1
        self.trouble = error.message
        self.watch.trouble(error.message)

    def _poll(self, seconds: float, pause: float) -> None:
        cli = self.cli
        step = {
            "poll": self.run.run_id, "connection": CONNECTION, "seconds": seconds, "pause": pause, "seen": self._seen, "lines": _MOST_LINES,
            "others": listing(_OTHERS) if self.run.status in ("", "pending") else [],
        }  # fmt: skip
        lines = foreign_data.Lines()

        def receive(piece: bytes) -> None:
            for line in lines.feed(piece):
                if line.strip() not in ("", in_pod.COMPLETE):
                    self._receive(line)

        rc, errors = in_pod.send(
            cli.cluster, cli.namespace, SUPERLINK_POD, CONTAINER, pod_program, {"steps": [step]}, receive, seconds=seconds + _SILENCE, silence=_SILENCE
        )
        if rc:
            raise FlowerError(f"the program that follows the run in pod {cli.namespace}/{SUPERLINK_POD} on {cli.cluster.name} ended with code {rc}: {errors}")

    def _receive(self, line: str) -> None:
        """Take a report.

        Raises:
            Unreachable: it is damaged, or one before it is missing.
            UnknownRun: the SuperLink does not have the run.
        """
        lost = Unreachable(f"{self.cli.cluster.name}: a part of the run's events was lost in transit.")
        try:
            with foreign_data.expect_shape(lost):
                report = foreign_data.read_json(line)
                at, left_out, lines = int(report["at"]), int(report["left_out"]), list(map(str, report["lines"]))
                self.run = known_run(self.cli, self.run.run_id, read_answer(report["run"]))
                news = parse_report(self.run, report)
        except UnknownRun:
            raise
        except FlowerError as error:
            self._fail(error)  # the SuperLink is being restarted: the program in the pod goes on
            return
        if at > self._seen:
            raise lost
        self._failures, self.trouble = 0, ""
        self.watch.report(news)
        first = at + left_out  # number of the first line that is there
        new = lines[max(self._seen - first, 0) :]
        left_out = max(first - self._seen, 0)
        self._seen = max(self._seen, first + len(lines))
        if new or left_out:
            cleaned = [line for text in new for line in clean_log(text)]
            cleaned = without_repeats(cleaned, self.lines[-1] if self.lines else "")
            self.lines.extend(cleaned)
            self.watch.log(cleaned, left_out)
