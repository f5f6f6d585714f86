# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container: no file can be written by the SuperLink, for a while.

It sets the limit of the SuperLink's process on the size of files (RLIMIT_FSIZE, setrlimit(2)) to 0, so that each of its writes to a file fails, and sets it
back at the end in any case. The disk itself is not touched. Python ignores the signal that comes with it (SIGXFSZ), so the process stays. A process that
is started again has its usual limit.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time

NAME = b"flower-superlink"
_BEAT = 5.0  # seconds between two signs that it is alive


def processes() -> list[int]:
    """The SuperLink's processes."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/" + name + "/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue  # it has ended
        if b"--database" in words and any(os.path.basename(word) == NAME for word in words[:3]):
            found.append(int(name))
    return found


def limit(process: int, soft: int | None) -> None:
    """Set the limit of a process; None for no other than its hard one."""
    hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process, resource.RLIMIT_FSIZE, (hard if soft is None else soft, hard))


def release(known: dict[int, int]) -> int:
    """Give processes their limit back; returns how many had none left."""
    done = 0
    for process in processes():
        if resource.prlimit(process, resource.RLIMIT_FSIZE)[0] == 0:
            limit(process, known.get(process))
            done += 1
    return done


def say(state: str, **more: object) -> None:
    """Print where it is."""
    print(json.dumps({"state": state, "now": time.time(), **more}), flush=True)


def hold(seconds: float) -> None:
    """Take the limit away for some seconds."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    found = processes()
    known = {process: resource.prlimit(process, resource.RLIMIT_FSIZE)[0] for process in found}
    if not found:
        say("fault", fault="there is no process of flower-superlink in this container")
        return
    end = time.monotonic() + seconds
    try:
        for process in found:
            limit(process, 0)
        say("full", processes=len(found))
        while time.monotonic() < end:
            time.sleep(min(_BEAT, max(end - time.monotonic(), 0)))
            say("waiting", left=end - time.monotonic())
    finally:
        release(known)
    say("released")


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.buffer.readline())
    try:
        if request["action"] == "hold":
            hold(request["seconds"])
        else:
            say("released", count=release({}))
    except PermissionError as error:
        say("fault", fault=str(error))


if __name__ == "__main__":
    main()
