# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follow a run to its end, even if the connection, the API server or the SuperLink is unavailable for a while.

The program in the pod reports lines of the log and the state of the run as they come (C(follow_program)). After an interruption
it continues after the last line that was received.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..base.ports import SUPERLINK_PORT
from ..kube.api_errors import ApiError, Forbidden, Unauthorized, Unreachable
from ..programs import follow_program
from . import in_pod
from .cli import CONNECTION, CONTAINER, FlowerCLI, FlowerError, listing, read_answer
from .run_log import LOG_LINES, clean_log, without_repeats
from .runs import Run, UnknownRun, known_run

# Seconds of one exec. If the connection is lost, the program in the pod may continue for that long, until it starts again.
_SLICE = 180.0
# Seconds without a message after which a connection is lost, in addition to the time between two looks.
_SILENCE = 20.0
# Seconds between two looks, at least and at most. A look costs 0.1 s of CPU in the pod; the end of a run is seen in its log.
_BEATS = (5.0, 10.0)
_PAUSES = (1, 2, 4, 8, 15)  # seconds before it is tried again
# Newest runs, among which those before a pending run are looked for. These are only shown, and listed every 15 s, which costs, see C(cli.listing).
_OTHERS = 200


@dataclass(frozen=True)
class Sight:
    """What one look found.

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

    def sight(self, sight: Sight) -> None:
        """The state of the run."""

    def trouble(self, text: str) -> None:
        """The run could not be read; it is tried again."""


def sight_of(run: Run, message: Mapping[str, Any]) -> Sight:
    """Read a look of the program in the pod."""
    nodes = message.get("nodes")
    known = [status for status in nodes or [] if status != "unregistered"]
    return Sight(
        run,
        None if nodes is None else known.count("online"),
        len(known),
        None if message.get("runs") is None else ahead(message["runs"], run.run_id),
        tuple(map(str, message.get("online") or ())),
    )


def ahead(active: Sequence[Mapping[str, Any]], run_id: str) -> tuple[Run, ...]:
    """Of runs that are not finished, those that were submitted before one of them, the oldest first."""
    own = next((str(one.get("pending-at")) for one in active if str(one.get("run-id")) == run_id), "")
    before = [
        one for one in active if str(one.get("run-id")) != run_id and (str(one.get("pending-at")) <= own or not own)
    ]
    return tuple(
        Run(str(one["run-id"]), str(one.get("status", "")), app=str(one.get("fab-id") or ""))
        for one in sorted(before, key=lambda one: str(one.get("pending-at")))
    )


class Following:
    """Follows one run.

    Args:
        cli: the SuperLink's command line.
        run_id: the run.
        watch: receives the news.

    Attributes:
        run: its last known state.
        trouble: why it could not be read the last time; empty when it could.
        lines: the last lines of its log, cleaned.
    """

    def __init__(self, cli: FlowerCLI, run_id: str, watch: Watch) -> None:
        self.cli = cli
        self.watch = watch
        self.run = Run(run_id)
        self.trouble = ""
        self.lines: deque[str] = deque(maxlen=LOG_LINES)
        self._seen = 0
        self._token = uuid.uuid4().hex
        self._failures = 0

    def follow(self, seconds: float) -> Run:
        """Wait until the run is finished, at most C(seconds); returns its last known state.

        The run continues while it cannot be read, so all of that is tried again. Only a missing right and an unknown run end it.

        Raises:
            ClusterError: a right is missing, or the SuperLink does not have the run.
        """
        start = time.monotonic()
        first = True  # a run that is over is read even without any time
        while first or not self.run.finished:
            passed = time.monotonic() - start
            if not first and passed >= seconds:
                break
            first = False
            began = time.monotonic()
            try:
                self._read(max(min(_SLICE, seconds - passed), 1), min(max(passed / 60, _BEATS[0]), _BEATS[1]))
                self._failures = 0
                if not self.run.finished and time.monotonic() - began < _PAUSES[0]:
                    time.sleep(_PAUSES[0])  # its output was lost
            except (Forbidden, Unauthorized, UnknownRun):
                raise
            except (Unreachable, ApiError, FlowerError) as error:
                self._fail(error)
                left = seconds - (time.monotonic() - start)
                time.sleep(max(min(_PAUSES[min(self._failures, len(_PAUSES)) - 1], left), 0))
        return self.run

    def _fail(self, error: ClusterError) -> None:
        self._failures += 1
        self.trouble = error.message
        self.watch.trouble(error.message)

    def _read(self, seconds: float, beat: float) -> None:
        request = {
            "run_id": self.run.run_id, "connection": CONNECTION, "port": SUPERLINK_PORT, "seconds": seconds, "seen": self._seen, "beat": beat,
            "token": self._token, "others": listing(_OTHERS),
        }  # fmt: skip
        cli = self.cli
        output = in_pod.stream(
            cli.cluster,
            cli.namespace,
            SUPERLINK_POD,
            CONTAINER,
            follow_program,
            request,
            self._receive,
            seconds=seconds + 90,
            silence=beat + _SILENCE,
        )
        if output.rc:
            raise FlowerError(
                f"the program that follows the run in pod {cli.namespace}/{SUPERLINK_POD} on {cli.cluster.name} ended with code {output.rc}: "
                f"{output.said}"
            )

    def _receive(self, line: str) -> None:
        lost = Unreachable(f"{self.cli.cluster.name}: a part of what was said about the run was lost on the way.")
        with foreign_data.expect_shape(lost):
            message = foreign_data.read_json(line)
            new = (int(message["at"]), int(message["left_out"]), list(map(str, message["lines"]))) if "at" in message else None
        if new:
            self._receive_log(*new)
        if "run" in message:
            try:
                with foreign_data.expect_shape(lost):
                    self.run = known_run(self.cli, self.run.run_id, read_answer(message["run"]))
                    sight = sight_of(self.run, message)
            except UnknownRun:
                raise
            except FlowerError as error:
                self._fail(error)  # the SuperLink is being restarted: the program in the pod continues
                return
            self._failures, self.trouble = 0, ""
            self.watch.sight(sight)

    def _receive_log(self, at: int, left_out: int, lines: Sequence[str]) -> None:
        """Take the lines that are new.

        Raises:
            Unreachable: lines before them are missing.
        """
        if at > self._seen:
            raise Unreachable(
                f"{self.cli.cluster.name}: {at - self._seen} lines of the run's log were lost on the way."
            )
        first = at + left_out  # number of the first line that is there
        new = lines[max(self._seen - first, 0) :]
        left_out = max(first - self._seen, 0)
        self._seen = max(self._seen, first + len(lines))
        if new or left_out:
            cleaned = [line for text in new for line in clean_log(text)]
            cleaned = without_repeats(cleaned, self.lines[-1] if self.lines else "")
            self.lines.extend(cleaned)
            self.watch.log(cleaned, left_out)
