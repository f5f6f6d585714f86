# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python that has imported what the program for outputs does, and forks for each command: to start one takes ten times as long.

Run as a program, it serves the socket that is its standard input.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

PROGRAM = "ansible_collections.federated.flower.plugins.plugin_utils.programs.outputs_program"


class Command:
    """A command that runs, with the part of C(subprocess.Popen) that is needed."""

    def __init__(self, server: Server, code: str, environment: Mapping[str, str]) -> None:
        pipes = [os.pipe() for _number in range(4)]
        (inner, stdin), (stdout, out), (stderr, err), (self._end, end) = pipes
        self.pid = server.fork({"code": code, "environment": dict(environment)}, [inner, out, err, end])
        for one in (inner, out, err, end):
            os.close(one)
        self.stdin: BinaryIO = os.fdopen(stdin, "wb")
        self.stdout: BinaryIO = os.fdopen(stdout, "rb")
        self.stderr: BinaryIO = os.fdopen(stderr, "rb")
        self.returncode = 1

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_error: object) -> None:
        for one in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                one.close()
        self.wait()
        os.close(self._end)

    def wait(self) -> None:
        """Until it has ended. One that could not say how has failed."""
        if said := os.read(self._end, 100):
            self.returncode = int(said)
            self.wait()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Server:
    """The Python, which ends with this process."""

    def __init__(self) -> None:
        self._door, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inner:
            self._process = subprocess.Popen([sys.executable, "-m", __name__], stdin=inner)
        atexit.register(self.close)

    def close(self) -> None:
        self._door.close()
        self._process.wait()

    def fork(self, request: Mapping[str, Any], descriptors: list[int]) -> int:
        """The number of the process that runs a command."""
        socket.send_fds(self._door, [json.dumps(request).encode()], descriptors)
        return int(self._door.recv(100))


def serve(door: socket.socket) -> None:
    """Fork for each request that comes."""
    import importlib
    import inspect

    text = inspect.getsource(importlib.import_module(PROGRAM))
    known = {text: compile(text, "pod_program", "exec")}
    anew = builtins.compile
    builtins.compile = lambda source, *more: known.get(source) or anew(source, *more)  # type: ignore[assignment]
    while True:
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        request, descriptors, _flags, _address = socket.recv_fds(door, 65536, 4)
        if not request:
            return
        if not (pid := os.fork()):
            door.close()
            run(json.loads(request), descriptors)
        for one in descriptors:
            os.close(one)
        door.send(str(pid).encode())


def run(request: Mapping[str, Any], descriptors: list[int]) -> None:
    """Run a command as C(python -c) does; never returns."""
    *standard, end = descriptors
    for number, one in enumerate(standard):
        os.dup2(one, number)
        os.close(one)
    os.environ.clear()
    os.environ.update(request["environment"])
    code = 0
    try:
        exec(request["code"], {"__name__": "__main__"})
        sys.stdout.flush()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    os.write(end, str(code).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=os.dup(0)))
