# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics in the log of Flower's strategies."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs.run_metrics import (
    CURVES,
    POINTS,
    Progress,
    curves,
    last_metrics,
)

ROUND = """\
INFO :      [ROUND {0}/3]
INFO :      configure_train: Sampled 3 nodes (out of 3)
INFO :      aggregate_train: Received 3 results and 0 failures
INFO :      	└──> Aggregated MetricRecord: {{'loss': 0.{0}}}
INFO :      aggregate_evaluate: Received 3 results and 0 failures
round {0}: accuracy
INFO :      	└──> Aggregated MetricRecord: {{'accuracy': 0.{0}5, 'each': [1.0, 2]}}
"""


def test_the_last_of_each_place() -> None:
    log = "INFO :      Initial global evaluation results: {'accuracy': 0.1}\n" + ROUND.format(1) + ROUND.format(2)
    assert last_metrics(log.splitlines()) == {
        "round": 2,
        "train": {"loss": 0.2},
        "evaluate": {"accuracy": 0.25, "each": [1.0, 2]},
        "server": {"accuracy": 0.1},
    }
    log += "INFO :      Global evaluation\nINFO :      	└──> MetricRecord: {'accuracy': nan, 'nan': -inf}\n"
    assert last_metrics(log.splitlines())["server"] == {"accuracy": None, "nan": None}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "MetricRecord: {",
        "MetricRecord: {1: 2}",
        "MetricRecord: {'a': print()}",
        "MetricRecord: {'a': 'text'}",
        "{'a': 1}",
        "MetricRecord: {[1]: 2}",
        "MetricRecord: {'a\\ud800': 1.0}",
        "MetricRecord: {'a\\n': 1.0}",
        "MetricRecord: {'a': 1" + "0" * 400 + "}",
        "MetricRecord: {'a': [1" + "0" * 400 + "]}",
        "MetricRecord: {'a': " + "1" * 5000 + "}",
        f"[ROUND {'1' * 400}/3]",
        f"[ROUND {'1' * 5000}]",
    ],
)
def test_an_app_may_print_anything(line: str) -> None:
    assert last_metrics([line]) == {}
    assert curves(["[ROUND 1]", line, "[ROUND 2]", line]) == {}
    progress = Progress()
    progress.feed(f"[ROUND 2]\n{line}\n")
    assert (progress.round(), progress.values()) == (2, {})


def test_a_name_that_cannot_be_shown_drops_its_metric_alone() -> None:
    assert last_metrics([r"MetricRecord: {'a\ud800': 1.0, 'b': 2.0, 3: 4.0}"]) == {"round": 0, "server": {"b": 2.0}}


def test_curves_have_a_point_for_each_round() -> None:
    log = "INFO :      Initial global evaluation results: {'accuracy': 0.1}\n" + "".join(ROUND.format(number) for number in (1, 2, 3))
    log += "INFO :      Global evaluation\nINFO :      	└──> MetricRecord: {'accuracy': 0.3, 'broken': nan}\n"
    assert curves(log.splitlines()) == {
        "evaluate accuracy": [(1, 0.15), (2, 0.25), (3, 0.35)],
        "server accuracy": [(0, 0.1), (3, 0.3)],
        "train loss": [(1, 0.1), (2, 0.2), (3, 0.3)],
    }
    assert curves(ROUND.format(1).splitlines()) == {}, "one point is no curve"


def test_curves_of_a_long_run_and_of_many_metrics_stay_small() -> None:
    metrics = ", ".join(f"'m{number:02}': 1e999, 'n{number:02}': 0.5" for number in range(20))
    line = f"INFO :      	└──> Aggregated MetricRecord: {{{metrics}}}\n"
    found = curves("".join(f"INFO :      [ROUND {number}/5000]\n{line}" for number in range(1, 5001)).splitlines())
    assert len(found) == CURVES and all(name.startswith("train n") for name in found), found.keys()
    for points in found.values():
        assert len(points) == POINTS and points[0][0] == 1 and points[-1][0] == 5000


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_log_that_arrives_in_pieces(size: int) -> None:
    log = "\x1b[92mINFO \x1b[0m:      Initial global evaluation results: {'accuracy': 0.1}\n" + ROUND.format(1) + ROUND.format(2) + "x" * 50_000 + "\n"
    log += ROUND.format(3).partition("aggregate_evaluate")[0] + "no more of th"
    progress = Progress()
    assert (progress.round(), progress.values()) == (0, {})
    for offset in range(0, len(log), size):
        progress.feed(log[offset : offset + size])
    assert progress.round() == 3
    assert progress.values() == {"evaluate accuracy": 0.25, "server accuracy": 0.1, "train loss": 0.3}


def test_a_long_run_is_not_kept_whole() -> None:
    progress = Progress()
    progress.feed("".join(ROUND.format(number) for number in range(3000)))
    assert progress.round() == 2999 and len(progress._kept) == 1000
    progress.feed("x" * 50_000)
    assert len(progress._rest) == 20_000
