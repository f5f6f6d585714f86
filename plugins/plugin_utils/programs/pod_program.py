# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container and drives Flower's own command line.

The controller sends this file's text and a request as two lines of JSON on standard input; nothing secret is in
either. Every answer is one line of JSON on standard output. One process serves many commands, because starting Python
and importing flwr costs 0.6 s and a command after that 0.02 s.
"""

from __future__ import annotations

import base64
import gc
import glob
import importlib.abc
import importlib.machinery
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


class InertApps(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Prevents the code of an app from running in this container, which has the federation's keys and its database.

    C(flwr run) looks up the app's modules (flwr 1.41, C(object_ref.validate)), and Python imports C(package) to find
    C(package.module). Modules of the app are found as ever, but nothing in them is executed.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder) + os.sep

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Part of Python's import system: see C(importlib.abc.MetaPathFinder)."""
        inside = [entry for entry in (sys.path if path is None else path) if self.holds(entry)]
        spec = importlib.machinery.PathFinder.find_spec(name, inside, target) if inside else None
        if spec is None or not spec.has_location:
            return None
        spec.loader = self
        return spec

    def holds(self, path: str) -> bool:
        """Whether an entry of C(sys.path) is in the folder."""
        return (os.path.realpath(path) + os.sep).startswith(self.folder)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Part of Python's import system: an ordinary module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Part of Python's import system: leave the module empty."""


def run_command(app: Callable[..., Any], arguments: list[str], lines: int | None = None) -> dict[str, Any]:
    """Run one C(flwr) command in this process.

    flwr prints through a console object that is made at import, so the file descriptor is captured, not C(sys.stdout).

    Returns:
        A dict with C(rc) and C(out): the parsed JSON, or the text (on wish only its last C(lines)) where it is none.
    """
    code: Any = 0
    with tempfile.TemporaryFile() as capture:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(capture.fileno(), 1)
        try:
            code = app(arguments, standalone_mode=False) or 0
        except SystemExit as stop:
            code = stop.code or 0
        except (
            Exception
        ) as error:  # any exception of flwr is an answer for the control node, not the end of this program
            code = f"{type(error).__name__}: {error}"
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        capture.seek(0)
        text = capture.read().decode("utf-8", "replace")
    try:
        out = json.loads(text)
    except ValueError:
        out = text if lines is None else "\n".join(text.splitlines()[-lines:])
    return {"rc": code if isinstance(code, (int, str)) else 0, "out": out}


def run_once(app: Callable[..., Any], arguments: list[str], token: str) -> dict[str, Any]:
    """Run a command unless it was run with the same token before; then return the result of that time.

    So after a lost connection the request can be repeated without a second execution. A file in a folder that exists
    as long as the pod records that the command started, and then its result.
    """
    folder = tempfile.gettempdir()
    for old in glob.glob(os.path.join(folder, "once-*")):
        if os.path.getmtime(old) < time.time() - 86400:
            os.remove(old)
    note = os.path.join(folder, "once-" + token)
    try:
        os.close(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        for _attempt in range(60):
            with open(note, encoding="utf-8") as stream:
                text = stream.read()
            if text:
                return json.loads(text)
            time.sleep(1)
        return {"rc": 1, "out": "it was started, but returned no result"}
    answer = run_command(app, arguments)
    with open(note + ".new", "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    os.replace(note + ".new", note)
    return answer


def statuses(answer: dict[str, Any]) -> dict[str, str] | None:
    """Read node id -> status out of the answer of C(flwr supernode list)."""
    out = answer["out"]
    if not isinstance(out, dict) or not out.get("success"):
        return None
    return {str(node["node-id"]): node["status"] for node in out.get("nodes", [])}


def wait_online(app: Callable[..., Any], connection: str, wanted: list[str], seconds: float) -> dict[str, Any]:
    """List the SuperNodes until all of C(wanted) are online or C(seconds) are over; return the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = run_command(app, ["supernode", "list", connection, "--format", "json"])
        seen = statuses(answer)
        if seen is not None and all(seen.get(node) == "online" for node in wanted):
            return answer
        if time.monotonic() >= deadline:
            return answer
        time.sleep(0.5)


def wait_finished(
    app: Callable[..., Any], connection: str, run_id: str, seconds: float, pause: float
) -> dict[str, Any]:
    """Check a run every C(pause) seconds until it is finished or C(seconds) are over; return the last answer.

    An error ends it too: the control node decides how long to retry.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = run_command(app, ["list", "--run-id", run_id, connection, "--format", "json"])
        out = answer["out"]
        if not isinstance(out, dict) or not out.get("success"):
            return answer
        runs = out.get("runs", [])
        if any(str(run.get("status", "")).startswith("finished") for run in runs):
            return answer
        if time.monotonic() >= deadline:
            return answer
        time.sleep(min(pause, max(deadline - time.monotonic(), 0)))


def main() -> None:
    """Serve one request: put its files into a fresh folder, do its steps in order, print an answer for each."""
    request = json.loads(sys.stdin.readline())
    folder = tempfile.mkdtemp()
    try:
        for name, text in request.get("files", {}).items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        if request.get("archive"):
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(request["archive"]))) as archive:
                # without a choice, Python 3.12 and 3.13 warn; before 3.11.4 there is none
                careful: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(os.path.join(folder, "app"), **careful)
        sys.meta_path.insert(0, InertApps(folder))
        gc.disable()  # the import makes a great many objects and no garbage: a sixth of its time
        from flwr.cli.app import app

        gc.freeze()
        gc.enable()
        for step in request["steps"]:
            command = [part.replace("@FOLDER@", folder) for part in step.get("command", [])]
            if "once" in step:
                answer = run_once(app, command, step["once"])
            elif command:
                answer = run_command(app, command, step.get("lines"))
            elif "wait_online" in step:
                answer = wait_online(app, step["connection"], step["wait_online"], step["seconds"])
            else:
                answer = wait_finished(app, step["connection"], step["wait_finished"], step["seconds"], step["pause"])
            print(json.dumps(answer), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
