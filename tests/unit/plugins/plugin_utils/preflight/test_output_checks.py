# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The claim for outputs, before anything is changed."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight.output_checks import fault


def claim(modes=("ReadWriteOnce",), size="10Gi", storage="standard", phase="Bound", **meta):
    return {
        "metadata": {"name": "superlink-outputs", **meta},
        "spec": {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "storageClassName": storage},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("live", "words"),
    [
        (None, "does not exist: create it, or leave superlink_outputs_claim empty"),
        (claim(deletionTimestamp="2026-11-22T00:00:00Z"), "is being deleted"),
        (claim(phase="Lost"), "has lost its volume"),
        (claim(modes=["ReadOnlyMany"]), "has the access mode ReadOnlyMany, and ServerApps write to it"),
        (claim(phase="Pending"), ""),
        (claim(modes=["ReadOnlyMany", "ReadWriteMany"]), ""),
    ],
)
def test_an_existing_claim(parsed_hub, live, words):
    found = fault(parsed_hub(outputs_claim="models"), live)
    assert words in found if words else not found
    assert not found or "PersistentVolumeClaim flower/models" in found


@pytest.mark.parametrize(
    ("changes", "live", "words"),
    [
        ({}, None, ""),
        ({}, claim(), ""),
        ({"outputs_size": "10240Mi"}, claim(), ""),
        ({"outputs_size": "20Gi"}, claim(), ""),
        (
            {"outputs_size": "5Gi"},
            claim(),
            "5Gi is less than the 10Gi that PersistentVolumeClaim flower/superlink-outputs has",
        ),
        ({"outputs_storage_class": "fast"}, claim(), "has the StorageClass standard, which cannot change to fast"),
        ({"outputs_storage_class": "standard"}, claim(), ""),
    ],
)
def test_a_claim_that_was_created(parsed_hub, changes, live, words):
    found = fault(parsed_hub(**changes), live)
    assert words in found if words else not found
