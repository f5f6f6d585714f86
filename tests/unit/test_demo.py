# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: what it refuses before it starts anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT


@pytest.mark.parametrize("verb", ["up", "down"])
def test_the_study_leaves_clusters_alone_that_were_given(verb: str, tmp_path: Path) -> None:
    """There is no command in the path, so that nothing could start."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "FLOWER_FLEET_KUBECONFIG": str(tmp_path / "kubeconfig")}
    done = subprocess.run(
        ["bash", ROOT / "tools/demo.sh", verb, "study"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "Unset FLOWER_FLEET_KUBECONFIG" in done.stderr and not done.stdout
