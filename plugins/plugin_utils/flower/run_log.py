# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log of a run: read it, and find in it what its app and SuperNodes say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..base.foreign_data import CONTROL, expect_shape
from .cli import CONNECTION, FlowerCLI, FlowerError
from .runs import Run

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# What Flower itself logs for a successful run.
_CHATTER = re.compile(r"^(?:INFO|DEBUG)\s*:|^\s*$|^Successfully installed \S+ to \S+$")
# What Flower logs about its connection (flwr 1.42, C(http_retry)): each attempt that failed, and the one that succeeded after them.
_RETRIES = re.compile(r"^WARNING\s*:\s*Connection attempt failed, retrying\b")
_CONNECTED = re.compile(r"^INFO\s*:\s*Connection successful after\b")
_NAMED, _LONGEST_REASON = 5, 200  # SuperNodes in a message, and characters of what each says
# Of Flower's own lines, those that say that a SuperNode answered with an error: its strategies go on without it (flwr 1.41, C(FedAvg)).
_FAILURES = re.compile(r"\baggregate_\w+: [Rr]eceived \d+ results and (0*[1-9]\d*) failures$")
_SUPERLINK = "1"  # node that answers for a SuperNode that is lost: flwr.common.constant.SUPERLINK_NODE_ID
_FAILED_REPLY = re.compile(r"> Received error in reply from node (\d+): (.*)$")
# Flower's strategies log it every second (flwr 1.41, C(sample_nodes)).
_WAITS = re.compile(r"^INFO\s*:\s*Waiting for nodes to connect: (\d+) connected \(minimum required: (\d+)\)\.$")
LOG_LINES = 5000  # fetched at most, so that a long run's log does not fill the controller's memory


def clean_log(text: str) -> list[str]:
    """Lines of a log without colours and control characters; of a progress bar only its last state."""
    lines = [CONTROL.sub("", line.rstrip("\r").rpartition("\r")[2]) for line in _ANSI.sub("", text).split("\n")]
    return [line.rstrip() for line in lines]


def highlights(lines: list[str]) -> list[str]:
    """The lines of the app, of Flower's warnings and errors, and of errors of SuperNodes, without Flower's own log of the run.

    Attempts to connect count only after the last connection that succeeded.
    """
    connected = max((number for number, line in enumerate(lines) if _CONNECTED.match(line)), default=0)
    lines = [line for number, line in enumerate(lines) if number >= connected or not _RETRIES.match(line)]
    return [line for line in lines if not _CHATTER.match(line) or _FAILURES.search(line) or _FAILED_REPLY.search(line)]


def without_repeats(lines: Sequence[str], before: str = "") -> list[str]:
    """Lines without those that repeat that the app waits for SuperNodes. C(before): the line before them."""
    return [line for last, line in zip([before, *lines], lines) if line != last or not _WAITS.match(line)]


def waiting(lines: Sequence[str]) -> str:
    """What the app waits for, by the end of its log; empty if it does not wait for SuperNodes."""
    found = _WAITS.match(lines[-1]) if lines else None
    return f"its app waits for {found[2]} SuperNodes, and {found[1]} can be reached" if found else ""


def failed_replies(lines: Sequence[str]) -> tuple[int, dict[str, str]]:
    """How many answers of SuperNodes were errors, and node id -> the last reason, as far as the app's strategy logs it."""
    counted = sum(int(found[1]) for line in lines if (found := _FAILURES.search(line)))
    replies = [(found[1], found[2]) for line in lines if (found := _FAILED_REPLY.search(line))]
    return max(counted, len(replies)), dict(replies)


def describe_failed_replies(count: int, reasons: Mapping[str, str], homes: Mapping[str, str]) -> str:
    """Describe answers that were errors: their number, the reason of each node, and the site of those of which it is known."""
    places = {node: f"{homes[node]} (node {node})" if node in homes else f"node {node}" for node in reasons} | {_SUPERLINK: "the SuperLink for a lost one"}
    named = [f"{places[node]}: {why[:_LONGEST_REASON]}" for node, why in reasons.items()]
    more = f"; and {len(named) - _NAMED} more SuperNodes" if len(named) > _NAMED else ""
    last = f" The last error of each: {'; '.join(named[:_NAMED])}{more}" if named else ""
    return f"answers of SuperNodes in its log that are errors: {count}. Flower's strategies continue without these SuperNodes.{last}"


def read_log(cli: FlowerCLI, run: Run) -> list[str]:
    """The ServerApp's log (its end, if it is long); empty when there is none yet.

    Before its first line C(flwr log) would wait, so it is not called for a run that has not started.
    """
    if run.status in ("", "pending", "starting"):
        return []
    return read_logs(cli, [run])[0]


def read_logs(cli: FlowerCLI, begun: Sequence[Run]) -> list[list[str]]:
    """As C(read_log), of several runs that have started."""
    steps = [{"log": run.run_id, "connection": CONNECTION, "lines": LOG_LINES, "is_over": run.finished} for run in begun]
    answers = cli.do(steps, seconds=60 + 20 * len(steps)) if steps else []
    with expect_shape(FlowerError(f"{cli.cluster.name}: the log of a run was not read completely.")):
        return [without_repeats(trim([line for text in answer.data["lines"] for line in clean_log(text)])) for answer in answers]


def trim(lines: list[str]) -> list[str]:
    """Lines of a log without the empty ones at its end."""
    while lines and lines[-1] in ("", "INFO :"):
        lines.pop()
    return lines
