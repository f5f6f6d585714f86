# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""second_try.py NAME PYTEST… -- FILES…: run pytest; where few files failed, run those once more.

Tests on real clusters can fail because the machine was slow. CI gives them a second try, which no local run does. A test that
passes then is not hidden: its failure has been printed, it is in build/times/NAME-unsteady.txt, and test.py names it at its
end. Whole files are run again, as tests of a file build on each other. If more than two files failed, that is not chance. Nor
is a failure with the words of NO_SECOND_TRY: it judges all tests of the session, and those are not run again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

FILES = 2  # that may fail by chance
NO_SECOND_TRY = "(no second try)"


def failed(report: Path) -> dict[str, list[str]]:
    """File -> names of its tests that failed, from a report of pytest (JUnit's format, family xunit2); nothing if one gets no second try."""
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        faults = [fault for kind in ("failure", "error") for fault in case.iter(kind)]
        if any(NO_SECOND_TRY in f"{fault.get('message')} {fault.text}" for fault in faults):
            return {}
        if faults:
            path = (case.get("classname") or "").replace(".", "/") + ".py"
            found.setdefault(path, []).append(case.get("name") or "")
    return found


def main(name: str, pytest: list[str], files: list[str]) -> int:
    """Exit status of the first run, or that of the second."""
    times = Path(os.environ["FLOWER_BUILD"]) / "times"
    times.mkdir(parents=True, exist_ok=True)
    first, second = (times / f"{name}{suffix}.xml" for suffix in ("", "-again"))
    code = subprocess.run([*pytest, f"--junitxml={first}", *files], check=False).returncode
    if code != 1 or os.environ.get("FLOWER_SECOND_TRY") != "1":  # 1: tests failed; others: pytest itself did
        return code
    guilty = failed(first)
    if not guilty or len(guilty) > FILES:
        print(f"\n=== {name}: no second try: more than {FILES} files failed, or what judges all of them", flush=True)
    if not guilty or len(guilty) > FILES or not all(Path(path).is_file() for path in guilty):
        return code
    print(f"\n=== {name}: a second try of {', '.join(guilty)}", flush=True)
    again = subprocess.run([*pytest, f"--junitxml={second}", *guilty], check=False).returncode
    if not again:
        tests = [f"{path}::{test}" for path, found in guilty.items() for test in found]
        (times / f"{name}-unsteady.txt").write_text("\n".join(tests) + "\n", encoding="utf-8")
    return again


if __name__ == "__main__":
    # pytest gets the signal as well and ends what it has started: this program waits for it.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: None)
    name, *words = sys.argv[1:]
    at = words.index("--")
    sys.exit(main(name, words[:at], words[at + 1 :]))
