# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Running programs, so that none outlives the command that started it unless it is meant to."""

from __future__ import annotations

import collections
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import FleetError

# A killed command takes these with it: the kernel kills unshare, and with it the process namespace under it.
CONTAINED = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child=KILL",
    "--mount-proc",
)


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    contained: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a short program and return its output; FleetError with the output if it fails and ``check``.

    With ``contained``, for what may take seconds, nothing of it survives this process.
    """
    words = [os.fspath(word) for word in argv]
    full = [*CONTAINED, *words] if contained else words
    try:
        result = subprocess.run(
            full, check=False, text=True, stdin=subprocess.DEVNULL, capture_output=True, env=env, cwd=cwd
        )
    except FileNotFoundError:
        raise FleetError(f"{words[0]} is not installed.") from None
    if check and result.returncode:
        said = (result.stderr.strip() or result.stdout.strip())[-2000:]
        raise FleetError(f"{' '.join(words)} ended with {result.returncode}: {said}")
    return result


def run_logged(
    argv: Sequence[str | os.PathLike[str]],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_line: Callable[[str], None] | None = None,
) -> None:
    """Run a long program with its output in ``log``; nothing of it survives this process.

    Raises FleetError with the log's last lines.
    """
    words = [*CONTAINED, *(os.fspath(word) for word in argv)]
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: collections.deque[str] = collections.deque(maxlen=25)
    with log.open("w") as out:
        out.write(f"$ {' '.join(words[len(CONTAINED) :])}\n")
        out.flush()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=env,
            cwd=cwd,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(line)
                tail.append(line)
                if on_line:
                    on_line(line.rstrip())
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
    if code:
        raise FleetError(f"{words[len(CONTAINED)]} ended with {code}. Log: {log}. Its end:\n{''.join(tail)}")


# Kept for the whole process: a socket that nothing refers to is closed, and a closed one holds nothing.
_locks: list[socket.socket] = []


def lock(name: str, *, timeout: float, waiting: Callable[[], None]) -> None:
    """One command of a name at a time on this machine, until this process ends. An abstract socket leaves no file.

    Args:
        name: of the lock.
        timeout: seconds to wait at most.
        waiting: is called once if another process has the lock.

    Raises:
        FleetError: another process still has it.
    """
    handle = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end = time.monotonic() + timeout
    told = False
    while True:
        try:
            handle.bind(f"\0{name}")
        except OSError:
            if time.monotonic() > end:
                handle.close()
                raise FleetError("another fleet command still runs; try again when it has ended.") from None
            if not told:
                waiting()
                told = True
            time.sleep(0.2)
        else:
            _locks.append(handle)
            return


def mount_points() -> list[str]:
    """Everything mounted here, bind mounts within one file system too, which C(os.path.ismount) does not see."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def remove_tree(path: Path) -> None:
    """Remove a directory; refuses while something is mounted below it (a bind mount would lose its files)."""
    if not path.exists():
        return
    real = os.path.realpath(path)
    for point in mount_points():
        if point == real or point.startswith(real + "/"):
            raise FleetError(f"{point} is still a mount; unmount it, then run this again.")
    shutil.rmtree(real)
