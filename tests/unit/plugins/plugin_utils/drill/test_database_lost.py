# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the drill on a lost database refuses before anything is changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.drill.breaks.database_lost import DatabaseLost

LABELS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "flower"}


def drill(managed: list[dict[str, str]], note: str = "") -> DatabaseLost:
    meta = {"name": "superlink", "namespace": "flower", "labels": LABELS, "managedFields": managed}
    meta["annotations"] = {"federated.flower/take-fields-from": note}
    live = {"kind": "StatefulSet", "metadata": meta, "spec": {"replicas": 1}}
    hub = SimpleNamespace(name="hub", get=lambda *_which: live)
    options = SimpleNamespace(directory="backups", recipients=["age1"], identity="AGE-SECRET-KEY-1")
    bench: Any = SimpleNamespace(hub=hub, namespace="flower", federation="flower", options=options)
    return DatabaseLost(bench)


@pytest.mark.parametrize(
    "entry",
    [
        {"manager": "kustomize-controller", "operation": "Apply"},
        {"manager": "argocd-controller", "operation": "Apply"},
        {"manager": "argocd-application-controller", "operation": "Update"},
    ],
)
def test_a_superlink_that_a_gitops_controller_would_start_again_is_not_stopped(entry: dict[str, str]) -> None:
    """It would begin an empty database while its own one is set aside."""
    own = {"manager": "federated.flower", "operation": "Apply"}
    (fault,) = drill([own, entry]).faults()
    assert fault.startswith(f"hub: {entry['manager']} applies StatefulSet flower/superlink as well, and would start it again after it was stopped.")
    assert f"federated.flower/take-fields-from={entry['manager']}" in fault
    assert drill([own]).faults() == drill([own, entry], note=entry["manager"]).faults() == []
