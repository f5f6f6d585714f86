# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first example: a run that was to begin with a model does not begin without it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

APP = Path(__file__).parents[2] / "examples/quickstart"
CONFIG = {"note": "", "fail": False, "resume-run": "", "inputs": ""}


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The app's function."""
    monkeypatch.syspath_prepend(str(APP))
    monkeypatch.delenv("FLOWER_OUTPUTS_DIR", raising=False)
    from quickstart import server_app

    return server_app.main


@pytest.mark.parametrize("key", ["resume-run", "inputs"])
def test_nothing_to_begin_with(main: Any, key: str) -> None:
    with pytest.raises(RuntimeError, match=f"run config {key}: this federation keeps no outputs"):
        main(None, SimpleNamespace(run_config={**CONFIG, key: "7"}))


def test_two_models_to_begin_with(main: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLOWER_OUTPUTS_DIR", str(tmp_path))
    with pytest.raises(RuntimeError, match="resume-run and inputs are both set"):
        main(None, SimpleNamespace(run_config={**CONFIG, "resume-run": "7", "inputs": "inputs/x"}))
