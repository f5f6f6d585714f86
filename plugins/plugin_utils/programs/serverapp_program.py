# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in the container of ServerApps, where it is first in PATH: Flower's C(flwr-serverapp), in the folder of the run's outputs.

Published apps save their model into the working directory. The number of the run is known when Flower calls the ServerApp, so until then
the folder has a hidden name, for what modules of the app write while they are imported.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import shutil
import sys
import uuid
from typing import Any

NAME = "flwr-serverapp"


def enter(root: str, serverapp: Any) -> str:
    """Work in a new folder below that of all outputs; returns it. It gets the run's name when the ServerApp is called, and goes if it stays empty."""
    folder = os.path.join(root, f".{NAME}-{uuid.uuid4().hex}")
    call = serverapp.__call__

    def call_in_folder(self: Any, grid: Any, context: Any) -> None:
        home = os.path.join(root, str(context.run_id))
        try:
            os.rename(folder, home)
        except OSError as error:
            raise RuntimeError(
                f"the ServerApp was not called, because the folder of its run, {home}, cannot be made ({error.strerror}). If it has files, "
                "something else wrote them before this start. Submit the app again: each run has a folder of its own"
            ) from error
        try:
            call(self, grid, context)
        finally:
            os.chdir(root)
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(home)

    os.mkdir(folder)
    os.chdir(folder)
    serverapp.__call__ = call_in_folder
    return folder


def main() -> None:
    """Start Flower's program with the arguments of this one. What it starts no longer finds this one."""
    own = os.path.dirname(os.path.abspath(__file__))
    os.environ["PATH"] = os.pathsep.join(one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if one != own)
    program = shutil.which(NAME)
    if program is None:
        sys.exit(f"{NAME} is not in PATH: the image has no Flower")
    try:
        from flwr.serverapp import ServerApp
    except ImportError:  # this Python is not the one of Flower
        os.execv(program, [program, *sys.argv[1:]])
    folder = ""
    try:
        folder = enter(os.environ["FLOWER_OUTPUTS_DIR"], ServerApp)
    except (KeyError, OSError) as error:
        print(f"the working directory stays {os.getcwd()}: {error}", file=sys.stderr)
    sys.argv[0] = program
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        if os.path.isdir(folder):  # the ServerApp was not called
            os.chdir(os.path.dirname(folder))
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
