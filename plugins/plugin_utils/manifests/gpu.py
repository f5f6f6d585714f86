# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators: an extended resource on the container that computes, and a runtime class on its pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.values import Object, integer, text
from .pod import resources

DEFAULT_RESOURCE = "nvidia.com/gpu"


def count(gpu: Mapping[str, Any] | None) -> int:
    """Devices per pod; 0 if none are asked for. A C(gpu) mapping without C(count) asks for one."""
    if not gpu:
        return 0
    asked = integer(gpu.get("count"))
    return 1 if asked is None else asked


def with_devices(value: Any, gpu: Mapping[str, Any] | None) -> Object:
    """ResourceRequirements with the devices added. Requests equal limits: the API server demands it."""
    merged = resources(value)
    number = count(gpu)
    if gpu and number:
        name = text(gpu.get("resource") or DEFAULT_RESOURCE)
        for part in ("limits", "requests"):
            merged[part] = dict(sorted({**merged.get(part, {}), name: str(number)}.items()))
        merged = dict(sorted(merged.items()))
    return merged


def runtime_class(gpu: Mapping[str, Any] | None) -> str | None:
    """Name of the RuntimeClass, or None."""
    return text(gpu["runtime_class"]) if gpu and gpu.get("runtime_class") else None
