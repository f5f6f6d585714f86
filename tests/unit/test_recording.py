# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recording of the demo: what it keeps of a terminal, and the picture that is drawn from it."""

from __future__ import annotations

import importlib
import json
import subprocess
from types import ModuleType
from xml.etree import ElementTree

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT

#: A status line that is rewritten twice, its result, and a result with characters that XML escapes. The third pause is a long one.
EVENTS = [
    (0.0, "$ make demo\r\n"),
    (1.0, "\r1/1 run: a long status\x1b[K"),
    (2.0, "\r1/1 run: step 2\x1b[K"),
    (9.0, "\r\x1b[K1/1 run: 8 s\r\n"),
    (9.01, "\r\nhub  0.501 -> 0.691\r\n"),
]


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("recording")


def test_rows_are_shown_one_after_the_other(recording: ModuleType) -> None:
    assert [(line.row, line.text, line.start, line.end) for line in recording.find_lines(EVENTS)] == [
        (0, "$ make demo", 0.0, None),
        (1, "1/1 run: a long status", 1.0, 2.0),
        (1, "1/1 run: step 2", 2.0, 4.0),
        (1, "1/1 run: 8 s", 4.0, None),
        (3, "hub  0.501 -> 0.691", 4.0, None),
    ]


def test_a_long_recording_is_shown_faster(recording: ModuleType) -> None:
    assert recording.find_ticks([(float(second), "") for second in range(101)]) == [second * 2 for second in range(101)]


@pytest.mark.parametrize(
    ("printed", "shown"), [("abc\rx", "xbc"), ("abc\rx\x1b[K", "x"), ("abc\r\x1b[Kx\r", "x"), ("\x1b[1mabc", ""), ("a\tb", ""), ("a\bb", "")]
)
def test_what_a_row_shows(recording: ModuleType, printed: str, shown: str) -> None:
    """Nothing, if the recording has control characters that the picture would not show as a terminal does."""
    if shown:
        assert recording.read_row(printed) == shown
    else:
        with pytest.raises(ValueError, match="cannot be drawn"):
            recording.read_row(printed)


def test_the_picture_ends_with_the_last_frame(recording: ModuleType) -> None:
    cast = [{"version": 2, "width": 100, "height": 40}, *([seconds, "o", text] for seconds, text in EVENTS)]
    picture = recording.draw("\n".join(map(json.dumps, cast)))
    texts = [(text.get("class"), text.text) for text in ElementTree.fromstring(picture).findall(".//{*}text")]
    assert texts == [
        ("n", "a real run of 9 s, shown in 4 s"),
        ("prompt", "$ make demo"),
        ("past", "1/1 run: a long status"),
        ("past", "1/1 run: step 2"),
        ("last", "1/1 run: 8 s"),
        ("last", "hub  0.501 -> 0.691"),
    ]
    assert ".past { visibility: hidden; }" in picture and "prefers-reduced-motion" in picture and "<script" not in picture


def test_a_terminal_is_recorded(recording: ModuleType) -> None:
    """As the demo sees it, and without the path of the checkout."""
    events = recording.record(["sh", "-c", f"test -t 1 && echo in {ROOT}/build"])
    assert "".join(text for _seconds, text in events) == "in build\r\n"
    with pytest.raises(subprocess.CalledProcessError):
        recording.record(["false"])
