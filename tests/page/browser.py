# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Chromium of Debian's package (tools/chromium.py), which opens a file, draws it and runs a script in a copy of it."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

TOOL = Path(__file__).resolve().parents[2] / "tools" / "chromium.py"
SECONDS = 180  # axe-core needs more than a minute on a busy machine
ATTEMPTS = 3
NARROW, PHONE, DESK = 360, 390, 1280
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@cache
def fetched(*arguments: str) -> Path:
    """What tools/chromium.py prints."""
    done = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def open_in_chromium(page: Path, *options: str, width: int = DESK, height: int = 1200, dark: bool = False) -> str:
    """Open a file; returns what Chromium printed."""
    folder = fetched()
    libraries = [str(path.parent) for path in (folder / "usr" / "lib").rglob("*.so*")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(dict.fromkeys(libraries))}
    said = ""
    for attempt in range(ATTEMPTS):  # on a busy machine, one of its processes may end; no page decides its exit code
        command = [
            str(folder / "usr/lib/chromium/chromium-headless-shell"), "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--virtual-time-budget=20000", f"--window-size={width},{height}", f"--user-data-dir={page.parent / f'chromium-{attempt}'}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}", *options, page.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            said += f"attempt {attempt + 1} did not end in {SECONDS} s\n"
            continue
        if done.returncode == 0:
            return done.stdout
        said += f"attempt {attempt + 1} ended with code {done.returncode}: {done.stderr[-1000:]}\n"
    raise AssertionError(said)


def screenshot(page: Path, picture: Path, width: int, height: int, dark: bool = False) -> bytes:
    """A picture of a page as it is."""
    open_in_chromium(page, f"--screenshot={picture}", width=width, height=height, dark=dark)
    return picture.read_bytes()


def pdf(page: Path, file: Path) -> bytes:
    """A page as it is printed."""
    open_in_chromium(page, f"--print-to-pdf={file}")
    return file.read_bytes()


def text_with_scripts(page: Path) -> str:
    """The elements of a page after the scripts that its policy allows have run."""
    return open_in_chromium(page, "--dump-dom")


def evaluate(page: Path, script: str, width: int = DESK, dark: bool = False) -> Any:
    """What an asynchronous function returns in a copy of the page, without the policy that forbids scripts.

    Args:
        page: the file.
        script: the body of the function.
        width: of the window.
        dark: whether the reader prefers dark pages.
    """
    begin, end = "BEGIN-OF-ANSWER", "END-OF-ANSWER"
    text = _POLICY.sub("", page.read_text(encoding="utf-8"))
    program = (
        f"(async () => {{ {script} }})().catch(error => ({{error: String(error)}})).then(found => {{"
        f"document.documentElement.replaceChildren(document.createTextNode("
        f"'{begin}' + btoa(unescape(encodeURIComponent(JSON.stringify(found)))) + '{end}')) }})"
    )
    copy = page.with_name(f"{page.stem}-script.html")
    copy.write_text(text.replace("</body>", f"<script>{program}</script></body>"), encoding="utf-8")
    printed = open_in_chromium(copy, "--dump-dom", width=width, dark=dark)
    answer = json.loads(base64.b64decode(printed.partition(begin)[2].partition(end)[0]))
    assert not (isinstance(answer, dict) and "error" in answer), answer
    return answer


def hindrances(page: Path, width: int = DESK, dark: bool = False) -> list[str]:
    """What axe-core finds on a page: rule and elements."""
    library = fetched("axe").read_text(encoding="utf-8").replace("</script", "<\\/script")
    script = f"{library}; return (await axe.run(document)).violations.map(one => one.id + ': ' + one.nodes.map(node => node.html).slice(0, 3).join(' '))"
    found: list[str] = evaluate(page, script, width, dark)
    return found
