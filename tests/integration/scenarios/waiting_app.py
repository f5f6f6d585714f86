# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the example app whose runs last as long as a test needs, whatever the speed of the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

# Before its last round, the ServerApp waits for a file beside the outputs of runs.
_SERVER_APP = """\
import time
from pathlib import Path

from . import server_app

app = server_app.app  # Flower looks for an assignment
GATE = Path("{gate}")


class WaitingFedAvg(server_app.ReportingFedAvg):
    rounds = 0

    def start(self, *args, num_rounds, **kwargs):
        self.rounds = num_rounds
        return super().start(*args, num_rounds=num_rounds, **kwargs)

    def configure_train(self, server_round, *args, **kwargs):
        if server_round == self.rounds:
            print("waiting for", GATE, flush=True)
            while not GATE.exists():
                time.sleep(0.5)
        return super().configure_train(server_round, *args, **kwargs)


server_app.ReportingFedAvg = WaitingFedAvg
"""


def copy(app: Path, folder: Path, gate: str) -> Path:
    """Copy the example app to a folder, so that its runs wait for a file before their last round.

    Args:
        app: folder of the example app.
        folder: where the copy is created.
        gate: path of the file in the pod of the ServerApp.

    Returns:
        The folder of the copy.
    """
    target = folder / app.name
    shutil.copytree(app, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "quickstart" / "waiting_app.py").write_text(_SERVER_APP.format(gate=gate), encoding="utf-8")
    project = target / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("quickstart.server_app:app", "quickstart.waiting_app:app"), encoding="utf-8")
    return target
