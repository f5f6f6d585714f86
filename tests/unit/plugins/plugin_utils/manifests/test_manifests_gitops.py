# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GitOps controller may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.actions import rendering
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gitops
from ansible_collections.federated.flower.plugins.plugin_utils.marks.proof import ADOPT


def item(kind: str, name: str = "a", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "flower", **meta}}


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "ManifestWork", "ManagedClusterAddOn"])
def test_what_stays_with_the_playbooks(kind: str) -> None:
    assert gitops.chosen([item(kind), item("Service")]) == [item("Service")]


def test_what_was_adopted_is_not_ours_to_give() -> None:
    assert gitops.chosen([item("Service", annotations={ADOPT: "true"}), item("Service", annotations={ADOPT: "false"})]) == [
        item("Service", annotations={ADOPT: "false"})
    ]


def test_each_object_once_and_in_order(tmp_path: Path) -> None:
    rendering.keep(tmp_path, "hub", [item("Service", "b"), item("Service", "a", labels={"x": "old"}), item("Secret")])
    rendering.keep(tmp_path, "hub", [item("Service", "a", labels={"x": "new"}), item("Deployment", "z")])
    rendering.keep(tmp_path, "empty", [item("Secret")])
    found = rendering.kept(tmp_path, "hub")
    assert found == [item("Deployment", "z"), item("Service", "a", labels={"x": "new"}), item("Service", "b")]
    assert rendering.kept(tmp_path, "empty") == [] and rendering.kept(tmp_path, "other") is None
    assert list(yaml.safe_load_all(gitops.text("hub", found))) == found
    assert gitops.text("hub", found).startswith(gitops.HEADER)
