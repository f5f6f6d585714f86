# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Makes the stand-in importable for the tests beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest the marker."""
    config.addinivalue_line("markers", "fleet: needs the local fleet; starts it if it does not run")
