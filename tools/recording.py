# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""recording.py [draw]: record "make demo" in docs/images/demo.cast, and draw docs/docsite/rst/images/demo.svg from the recording.

The recording has the format of asciinema, asciicast v2. With draw, the demo does not run: the picture is drawn from the recording that exists.
CSS animates the picture, once. Where the reader prefers no motion, it shows the last frame.
"""

from __future__ import annotations

import codecs
import html
import itertools
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steps import format_duration

CHECKOUT = Path(__file__).resolve().parents[1]
CAST = CHECKOUT / "docs/images/demo.cast"
PICTURE = CHECKOUT / "docs/docsite/rst/images/demo.svg"
COLUMNS, ROWS = 100, 40
MAX_PAUSE, MAX_DURATION, TICK = 2.0, 20.0, 0.1  # seconds of the picture
LINE_HEIGHT, CHARACTER_WIDTH, MARGIN, TITLE_HEIGHT = 17, 8, 14, 30

Events = Sequence[tuple[float, str]]  # seconds since the start, and what was printed then

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title desc">
  <!-- SPDX-License-Identifier: Apache-2.0 -->
  <title id="title">make demo</title>
  <desc id="desc">A terminal. The demo starts three Kubernetes clusters, deploys a federation, runs an app and prints a report.</desc>
  <style>
    text {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; fill: #1f2a44; white-space: pre; }}
    .prompt {{ font-weight: bold; }} .past, .n {{ fill: #5a6478; }} .past {{ visibility: hidden; }} .area {{ fill: #f3f6fb; stroke: #a9b3c6; }}
    @keyframes wait {{ from, to {{ visibility: hidden; }} }}
    @keyframes show {{ from, to {{ visibility: visible; }} }}
    @media (prefers-reduced-motion: no-preference) {{
      .last, .prompt {{ animation-name: wait; animation-duration: 1ms; animation-fill-mode: backwards; }} .past {{ animation-name: show; }}
    }}
    @media (prefers-color-scheme: dark) {{
      text {{ fill: #e3e8f2; }} .past, .n {{ fill: #a4afc3; }} .area {{ fill: #182030; stroke: #4a566b; }}
    }}
  </style>
  <rect class="area" x="1" y="1" width="{right}" height="{bottom}" rx="6"/>
  <text class="n" x="{margin}" y="20">a real run of {real}, shown in {shown}</text>
  <g xml:space="preserve">
{lines}
  </g>
</svg>
"""


@dataclass
class Line:
    """What a row of the terminal shows from one second to another, or from then on."""

    row: int
    text: str
    start: float
    end: float | None = None

    def draw(self) -> str:
        """Return the element of the picture."""
        kind, style = "prompt" if self.text.startswith("$ ") else "last", f"animation-delay:{self.start}s"
        if self.end is not None:
            kind, style = "past", f"{style};animation-duration:{self.end - self.start:.1f}s"
        y = TITLE_HEIGHT + (self.row + 1) * LINE_HEIGHT
        return f'<text class="{kind}" x="{MARGIN}" y="{y}" style="{style}">{html.escape(self.text, quote=False)}</text>'


def record(command: Sequence[str]) -> Events:
    """Run a command in a pseudo-terminal and return what it prints, with paths relative to the checkout.

    Raises:
        CalledProcessError: the command failed.
    """
    events = []
    start, decoder = time.monotonic(), codecs.getincrementaldecoder("utf-8")()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        text = decoder.decode(data).replace(f"{CHECKOUT}/", "").replace(str(Path.home()), "~")
        events.append((round(time.monotonic() - start, 3), text))
        return data

    if code := os.waitstatus_to_exitcode(pty.spawn(command, read)):
        raise subprocess.CalledProcessError(code, command)
    return events


def find_ticks(events: Events) -> list[int]:
    """Return when the picture shows each event, in ticks. Long pauses are shortened, and all of it is faster if it would take too long."""
    pauses = [after - before for before, after in itertools.pairwise([0.0, *(seconds for seconds, _text in events)])]
    shown = list(itertools.accumulate(min(pause, MAX_PAUSE) for pause in pauses))
    return [round(seconds * min(1, MAX_DURATION / (shown[-1] or 1)) / TICK) for seconds in shown]


def read_row(printed: str) -> str:
    """Return what a row shows after all that was printed on it.

    Raises:
        ValueError: it contains control characters that Display of steps.py does not use.
    """
    shown = ""
    for part in printed.split("\r"):
        text, erased, rest = part.partition("\x1b[K")
        shown = text + (rest if erased else shown[len(text) :])
    if not re.fullmatch(r"[^\x00-\x1f\x7f]*", shown):
        raise ValueError(f"control characters cannot be drawn: {shown!r}")
    return shown


def find_lines(events: Events) -> list[Line]:
    """Return what the rows show one after the other, without empty lines."""
    lines, latest, printed = [], dict[int, Line](), ""
    for tick, group in itertools.groupby(zip(find_ticks(events), events, strict=True), key=lambda pair: pair[0]):
        printed += "".join(text for _tick, (_seconds, text) in group)
        now = round(tick * TICK, 1)
        for row, text in enumerate(map(read_row, printed.split("\n"))):
            if row not in latest or text != latest[row].text:
                if row in latest:
                    latest[row].end = now
                latest[row] = Line(row, text, now)
                lines.append(latest[row])
    return [line for line in lines if line.text]


def draw(cast: str) -> str:
    """Return the picture of a recording."""
    events = [(seconds, text) for seconds, _kind, text in map(json.loads, cast.splitlines()[1:])]
    lines = find_lines(events)
    width = COLUMNS * CHARACTER_WIDTH + 2 * MARGIN
    height = TITLE_HEIGHT + (lines[-1].row + 1) * LINE_HEIGHT + MARGIN
    return SVG.format(
        **{"width": width, "height": height, "right": width - 2, "bottom": height - 2, "margin": MARGIN},
        real=format_duration(events[-1][0]),
        shown=format_duration(find_ticks(events)[-1] * TICK),
        lines="\n".join(line.draw() for line in lines),
    )


def main(arguments: Sequence[str]) -> None:
    if arguments != ["draw"]:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
        events = [(0.0, "$ make demo\r\n"), *record(["make", "--no-print-directory", "demo"])]
        header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "make demo"}
        CAST.write_text("".join(f"{json.dumps(line)}\n" for line in [header, *([seconds, "o", text] for seconds, text in events)]), encoding="utf-8")
    PICTURE.write_text(draw(CAST.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
