# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The shape of an add-on, and how to wait for one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FleetError

TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class Addon:
    """Objects to apply in order, and the Deployments (namespace, name) that must be available then."""

    name: str
    objects: Sequence[dict[str, Any]]
    deployments: Sequence[tuple[str, str]] = ()


def until(step: Callable[[], object], trouble: str) -> None:
    """Repeat ``step`` until it is true; FleetError with ``trouble`` after TIMEOUT."""
    end = time.monotonic() + TIMEOUT
    while not step():
        if time.monotonic() > end:
            raise FleetError(f"{trouble} (waited {TIMEOUT:.0f} s)")
        time.sleep(0.2)
