# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images of a workload's containers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def images_of(workload: Mapping[str, Any]) -> dict[str, str]:
    """Container -> image, of a StatefulSet, DaemonSet or Deployment; init containers, such as sidecars, are among them."""
    pod = workload["spec"]["template"]["spec"]
    return {one["name"]: one["image"] for one in [*(pod.get("initContainers") or []), *pod["containers"]]}
