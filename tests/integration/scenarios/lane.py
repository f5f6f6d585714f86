# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the scenarios of this process run: every worker of pytest-xdist has its own federation on the same fleet."""

from __future__ import annotations

import os

_BASE = os.environ.get("FLOWER_SCENARIO", "scenario")  # another name lets two sessions run side by side
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
NAMESPACE = _BASE if _WORKER == "0" else f"{_BASE}{_WORKER}"
CA_NAMESPACE = f"{NAMESPACE}-ca"
