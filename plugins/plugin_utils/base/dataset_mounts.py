# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where containers have datasets, and which a live workload has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROOT = "/data"
PREFIX = "dataset-"  # of names of volumes


def path_of(name: str) -> str:
    """Where apps find a dataset."""
    return f"{ROOT}/{name}"


def names_of(workload: Mapping[str, Any]) -> list[str]:
    """Names of the datasets that a workload's containers mount."""
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    found = {
        each["name"][len(PREFIX) :]
        for container in pod.get("containers") or []
        for each in container.get("volumeMounts") or []
        if each["name"].startswith(PREFIX) and each.get("mountPath") == path_of(each["name"][len(PREFIX) :])
    }
    return sorted(found)
