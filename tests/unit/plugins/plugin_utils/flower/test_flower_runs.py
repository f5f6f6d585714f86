# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run config, and Flower's answers."""

from __future__ import annotations

from typing import Any

import pytest
import tomllib

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app, run_config, run_log, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.tests.unit.rows import each_row

DEFAULTS = {"text": "", "rounds": 3, "rate": 0.1, "fail": False, "a.b": 1}


@each_row(
    "text",
    [
        "plain",
        'say "hi"',
        "it's",
        "both ' and \"",
        "back\\slash \\n \\u0022",
        "line\nfeed\r\ttab",
        "a=1 b=2",
        "@FOLDER@ $(HOME) ${x} {{ y }} %s",
        "\u00e9\u4e2d\U0001f600",
        "\u202eabc\x00\x7f\u2028",
        "",
        " ends in .toml",
        "# no comment",
    ],
)
def test_texts_arrive_as_they_are(text: str) -> None:
    config = run_config.check({"text": text}, DEFAULTS, "me/app")
    assert app.flatten(tomllib.loads(run_config.write(config))) == {"text": text}


@each_row("value", [True, False, 0, -5, 2**63 - 1, -(2**63), 0.5, 1e300, 1e-9, 3.0])
def test_values_keep_their_types(value: Any) -> None:
    config = run_config.check({"text": value}, DEFAULTS, "me/app")
    found = app.flatten(tomllib.loads(run_config.write(config)))["text"]
    assert (found, type(found)) == (value, type(value))


def test_names_with_dots_and_nested_tables_are_the_same() -> None:
    for wanted in ({"a": {"b": 7}}, {"a.b": 7}):
        config = run_config.check(wanted, DEFAULTS, "me/app")
        assert app.flatten(tomllib.loads(run_config.write(config))) == {"a.b": 7}


@each_row(
    ("text", "default", "value"),
    [
        ("5", 3, 5),
        (" 5 ", 3, 5),
        ("5.5", 3, 5.5),
        ("0.5", 1, 0.5),
        ("1e-1", 1, 0.1),
        ("5.0", 2, 5.0),
        ("0x10", 3, 16),
        ("-7", 3, -7),
        ("1e-3", 0.1, 0.001),
        ("2", 0.1, 2),
        ("true", False, True),
        ("False", True, False),
        ("yes", True, True),
        ("no", False, False),
        ("Off", True, False),
        (" on ", False, True),
        ("5", "", "5"),
        ("no", "text", "no"),
        (5, "", 5),
    ],
)
def test_a_text_becomes_what_the_app_has(text: Any, default: Any, value: Any) -> None:
    found = run_config.check({"rate": text}, {"rate": default}, "me/app")["rate"]
    assert (found, type(found)) == (value, type(value))


@each_row(
    ("text", "default"),
    [
        ("auto", 3), ("true", 3), ("5\nx = 1", 3), ("0,5", 0.1), ("5 # five", 3), ("", 3), ("2026-01-01", 3), ("007", 3), ("5 000", 3),
        ("9" * 5000, 3), ("\u0663", 3), ("1e", 0.5), ("[1]", 3), ("inf", 0.5), ("9" * 30, 1), ("maybe", True), ("1", True), ("", False),
    ],
)  # fmt: skip
def test_a_text_in_place_of_a_number_or_boolean_is_refused(text: str, default: Any) -> None:
    """For Python every text is true, and none can be multiplied."""
    with pytest.raises(FlowerError, match="run_config rate: "):
        run_config.check({"rate": text}, {"rate": default}, "me/app")


@each_row(
    ("wanted", "message"),
    [
        ({"round": 1}, r"has no run config 'round'; it has a\.b, fail, rate"),
        ({"rate": float("nan")}, "not a finite number"),
        ({"rounds": 2**63}, "64 bits"),
        ({"text": "\ud800"}, "lone surrogate"),
        ({"text": None}, "not NoneType"),
        ({"text": [1]}, "not list"),
    ],
)
def test_what_a_run_config_cannot_be(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(FlowerError, match=message):
        run_config.check(wanted, DEFAULTS, "me/app")


def test_logs_are_cleaned() -> None:
    text = "\x1b[92mINFO \x1b[0m:      Start\r\n  0%\r 50%\r100%\n\x1b]0;title\x07a\x00b\tc\x1b[?25l\n\nround 1: fine"
    lines = run_log.clean_log(text)
    assert lines == ["INFO :      Start", "100%", "ab\tc", "", "round 1: fine"]
    assert run_log.highlights(lines) == ["100%", "ab\tc", "round 1: fine"]
    assert run_log.highlights(["WARNING : w", "ERROR : e", "DEBUG : d", "INFORMATION"]) == [
        "WARNING : w",
        "ERROR : e",
        "INFORMATION",
    ]


FAILS, CONNECTS = "WARNING :   Connection attempt failed, retrying in 0.71 seconds", "INFO :      Connection successful after 1.05 seconds and 2 tries."


@each_row(
    ("lines", "shown"),
    [
        ([FAILS, CONNECTS], []),
        (["a", FAILS, FAILS, "b", CONNECTS, FAILS, CONNECTS, "c"], ["a", "b", "c"]),
        ([FAILS, CONNECTS, "a", FAILS, FAILS], ["a", FAILS, FAILS]),  # it never came back
        ([FAILS], [FAILS]),
        ([CONNECTS, "WARNING :   w"], ["WARNING :   w"]),
        (["Connection attempt failed, retrying: the app's own", CONNECTS], ["Connection attempt failed, retrying: the app's own"]),
    ],
)
def test_attempts_to_connect_are_shown_if_none_succeeded(lines: list[str], shown: list[str]) -> None:
    assert run_log.highlights(lines) == shown


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ("No heartbeat received from the task", "The ServerApp's pod ended or restarted"),
        ("Task failed with unknown error.", "The ServerApp was terminated from outside"),
    ],
)
def test_the_end_of_a_run_is_explained(details: str, words: str) -> None:
    told = runs.describe_end(runs.Run("7", "finished:failed", details, 61.0, "me/app"))
    assert told.startswith(f"run 7 of me/app failed after 61.0 s: {details.rstrip('.')}. {words}")
    assert told.endswith("resume-run continues with -e flower_run_resume=7")


@each_row("details", ["", "ServerApp failed with exception: No heartbeat received from the task", "Model task failed with unknown error."])
def test_another_end_of_a_run_is_told_as_it_is(details: str) -> None:
    told = runs.describe_end(runs.Run("7", "finished:failed", details, 61.0, "me/app"))
    assert told == "run 7 of me/app failed after 61.0 s" + (f": {details}" if details else "")


FAILED = [
    "INFO :      aggregate_train: Received 1 results and 1 failures",
    "INFO :          \t> Received error in reply from node 17: <class 'ValueError'>:<'the table here has 3 columns'>",
    "INFO :      aggregate_evaluate: Received 2 results and 0 failures",
    "round 1: fine",
]


def test_errors_of_supernodes_are_told() -> None:
    assert run_log.highlights(FAILED) == [FAILED[0], FAILED[1], FAILED[3]]
    count, reasons = run_log.failed_replies([*FAILED, *FAILED, "INFO : aggregate_fit: received 0 results and 10 failures", FAILED[1].replace("17", "18")])
    assert (count, list(reasons)) == (12, ["17", "18"])
    words = run_log.describe_failed_replies(count, reasons, {"17": "site-b"})
    assert "errors: 12. " in words and "site-b (node 17): <class 'ValueError'>" in words and "; node 18: <class" in words
    many = {str(node): "x" * 1000 for node in range(9)}
    assert run_log.describe_failed_replies(9, many, {}).endswith("; and 4 more SuperNodes") and len(run_log.describe_failed_replies(9, many, {})) < 1500
    lost = "INFO :          \t> Received error in reply from node 1: Error: Node Unavailable — The destination node failed to report a heartbeat"
    words = run_log.describe_failed_replies(*run_log.failed_replies([lost]), {})
    assert "The last error of each: the SuperLink for a lost one: Error: Node Unavailable" in words
    assert run_log.failed_replies(FAILED[2:]) == (0, {})
    assert run_log.failed_replies(FAILED[1:2])[0] == 1
