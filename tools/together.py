# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""together.py COMMAND…: run shell commands at the same time; exit status 1 if one of them failed.

The last one prints as it runs, the others' output follows when all are complete.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence


def exit_on_signals() -> None:
    """Have the signals that end this process run what is in `finally`, which ends what it has started."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, frame: sys.exit(128 + number))


def together(commands: Sequence[Sequence[str]]) -> list[tuple[bool, float]]:
    """Run them; returns for each whether it succeeded, and its seconds."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outputs = [open(f"{folder}/{number}", "w+b") for number in range(len(commands) - 1)]  # noqa: SIM115
        processes = [
            # each with what it starts in a group of its own, which can be ended as a whole
            subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT if output else None, start_new_session=True)
            for command, output in zip(commands, [*outputs, None], strict=True)
        ]
        ended: dict[int, float] = {}
        try:
            while len(ended) < len(processes):
                for number, process in enumerate(processes):
                    if number not in ended and process.poll() is not None:
                        ended[number] = time.monotonic() - begun
                time.sleep(0.2)
        finally:
            for process in processes:  # after an interrupt
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
            for process in processes:
                process.wait()
            for output in outputs:
                output.seek(0)
                sys.stdout.flush()
                sys.stdout.buffer.write(output.read())
                sys.stdout.flush()
                output.close()
    return [(process.returncode == 0, ended[number]) for number, process in enumerate(processes)]


if __name__ == "__main__":
    exit_on_signals()
    sys.exit(0 if all(ok for ok, _seconds in together([["bash", "-c", text] for text in sys.argv[1:]])) else 1)
