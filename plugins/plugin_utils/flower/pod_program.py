# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container and drives Flower's own command line.

The controller sends this file's text as C(python -c TEXT) and one line of JSON on standard input; nothing secret is in
either. Every answer is one line of JSON on standard output. One process serves many commands, because starting Python
and importing flwr costs 0.6 s and a command after that 0.02 s.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time


def run_command(app, arguments):
    """Run one C(flwr) command in this process.

    flwr prints through a console object that is made at import, so the file descriptor is captured, not C(sys.stdout).

    Returns:
        A dict with C(rc) and C(out): the parsed JSON, or the text where it is none.
    """
    code = 0
    with tempfile.TemporaryFile() as capture:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(capture.fileno(), 1)
        try:
            code = app(arguments, standalone_mode=False) or 0
        except SystemExit as stop:
            code = stop.code or 0
        except Exception as error:  # whatever flwr raises is an answer for the controller, not the end of this program
            code = "%s: %s" % (type(error).__name__, error)
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        capture.seek(0)
        text = capture.read().decode("utf-8", "replace")
    try:
        out = json.loads(text)
    except ValueError:
        out = text
    return {"rc": code if isinstance(code, (int, str)) else 0, "out": out}


def statuses(answer):
    """Read node id -> status out of the answer of C(flwr supernode list)."""
    out = answer["out"]
    if not isinstance(out, dict) or not out.get("success"):
        return None
    return dict((str(node["node-id"]), node["status"]) for node in out.get("nodes", []))


def wait_online(app, connection, wanted, seconds):
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


def wait_finished(app, connection, run_id, seconds):
    """Look at a run until it is finished or C(seconds) are over; return the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = run_command(app, ["list", "--run-id", run_id, connection, "--format", "json"])
        out = answer["out"]
        runs = out.get("runs", []) if isinstance(out, dict) else []
        if any(str(run.get("status", "")).startswith("finished") for run in runs):
            return answer
        if time.monotonic() >= deadline:
            return answer
        time.sleep(0.5)


def main():
    """Serve one request: put its files into a fresh folder, do its steps in order, print an answer for each."""
    request = json.loads(sys.stdin.readline())
    folder = tempfile.mkdtemp()
    try:
        for name, text in request.get("files", {}).items():
            with open(os.path.join(folder, name), "w") as stream:
                stream.write(text)
        if request.get("archive"):
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(request["archive"]))) as archive:
                archive.extractall(os.path.join(folder, "app"), filter="data")
        from flwr.cli.app import app

        for step in request["steps"]:
            if "command" in step:
                answer = run_command(app, [part.replace("@FOLDER@", folder) for part in step["command"]])
            elif "wait_online" in step:
                answer = wait_online(app, step["connection"], step["wait_online"], step["seconds"])
            else:
                answer = wait_finished(app, step["connection"], step["wait_finished"], step["seconds"])
            print(json.dumps(answer), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
