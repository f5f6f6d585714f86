# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubectl of the fleet, for what users do by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


class Kubectl:
    """kubectl with a context of the fleet."""

    def __init__(self, federation: Any, context: str) -> None:
        tool = [sys.executable, str(Path(__file__).parents[2] / "fleet"), "tool", "kubectl"]
        built = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        program = Path(built.stdout.splitlines()[-1]) / "kubectl"
        self.words = [str(program), "--kubeconfig", str(federation.kubeconfig), "--context", context]

    def __call__(self, *words: str, seconds: float = 180) -> str:
        """Run it; returns what it printed."""
        done = subprocess.run([*self.words, *words], capture_output=True, text=True, check=False, timeout=seconds)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout
