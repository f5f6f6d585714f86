# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The user's own clusters in place of the local ones: FLOWER_FLEET_KUBECONFIG."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import FleetError


def contexts(file: Path) -> list[str]:
    """Names of the contexts in a kubeconfig. Needs PyYAML unless the file is JSON or written the usual way."""
    try:
        text = file.read_text()
    except OSError as error:
        raise FleetError(f"FLOWER_FLEET_KUBECONFIG: cannot read {file}: {error.strerror}.") from None
    try:
        import yaml
    except ImportError:
        block = re.search(r"^contexts:\n((?:[ -].*\n?)*)", text, re.M)
        return re.findall(r"^(?:- |  )name: *\"?([^\s\"]+)", block.group(1) if block else "", re.M)
    try:
        data = yaml.safe_load(text) or {}
        return [entry["name"] for entry in data.get("contexts") or []]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        raise FleetError(f"FLOWER_FLEET_KUBECONFIG: {file} is not a kubeconfig.") from None


def check(file: Path, wanted: list[str]) -> list[str]:
    """Contexts of the user's kubeconfig; FleetError if a wanted one does not exist."""
    have = contexts(file)
    missing = [name for name in wanted if name not in have]
    if missing:
        raise FleetError(
            f"FLOWER_FLEET_KUBECONFIG: {file} has no context {', '.join(missing)} "
            f"(it has: {', '.join(have) or 'none'}). Add it, or ask for fewer sites with FLEET_SITES."
        )
    return have
