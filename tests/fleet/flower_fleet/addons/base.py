# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The shape of an add-on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Addon:
    """Objects to apply in order, and the Deployments (namespace, name) that must be available then."""

    name: str
    objects: Sequence[dict[str, Any]]
    deployments: Sequence[tuple[str, str]] = ()
