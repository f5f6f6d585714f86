# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: what it refuses before it starts anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.read import ROOT


@pytest.mark.parametrize("verb", ["up", "down"])
def test_the_study_leaves_clusters_alone_that_were_given(verb: str, tmp_path: Path) -> None:
    """There is no command in the path, so that nothing could start."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "FLOWER_FLEET_KUBECONFIG": str(tmp_path / "kubeconfig")}
    done = subprocess.run(
        ["bash", ROOT / "tools/demo.sh", verb, "study"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "Unset FLOWER_FLEET_KUBECONFIG" in done.stderr and not done.stdout


def test_one_demo_can_follow_another() -> None:
    """They share clusters and the federation's name, and a claim cannot shrink."""
    hubs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("inventories/demo*/group_vars/flower_hub.yml"))]
    assert len(hubs) == 4
    assert len({(hub["superlink_storage_size"], hub.get("superlink_outputs_size")) for hub in hubs}) == 1


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "docsite" / "rst").glob("*.rst"))]


@pytest.mark.parametrize("page", [one for one in PAGES if "-i inventories/demo" in one.read_text(encoding="utf-8")], ids=lambda page: page.name)
def test_pages_with_commands_on_the_demo_say_which_kubeconfig_it_has(page: Path) -> None:
    """The inventory names none; C(FLOWER_FLEET_KUBECONFIG), which it reads, would have C(make demo-down) keep the clusters."""
    text = page.read_text(encoding="utf-8")
    assert "$ export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)" in text or "docsite.guide_start.demo>`" in text
