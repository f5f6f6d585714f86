# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An object that lost its labels is not to be deleted: the message has the command that gives them back."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.marks import disowned, proof

BY, OF = proof.MANAGED_BY, proof.INSTANCE
OURS = {BY: "federated.flower", OF: "demo"}
WRITTEN = [{"manager": "federated.flower", "operation": "Apply"}]


def thing(labels: Any, managers: Any = (), *, kind: str = "PersistentVolumeClaim", **notes: str) -> dict[str, Any]:
    meta = {"name": "superlink-outputs", "namespace": "flower", "labels": labels, "managedFields": [*managers], "annotations": notes}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta}


@pytest.mark.parametrize(
    "labels, given",
    [
        ({OF: "demo"}, f"{BY}=federated.flower"),
        ({BY: "federated.flower"}, f"{OF}=demo"),
        ({}, f"{BY}=federated.flower {OF}=demo"),
    ],
)
def test_what_lost_its_labels_gets_them_back(labels: Any, given: str) -> None:
    why = disowned.fault(thing(OURS), thing(labels, WRITTEN))
    assert f"Give it back: kubectl label persistentvolumeclaim superlink-outputs -n flower {given}." in why
    assert "Delete or rename" not in why and "Do not delete it" in why


@pytest.mark.parametrize(
    "live",
    [
        thing({}),
        thing({OF: "demo"}, [{"manager": "kubectl-create"}]),
        thing({OF: "other"}, WRITTEN),
        thing({BY: "Helm", OF: "demo"}, WRITTEN),
        thing({OF: "demo"}, WRITTEN, **{"meta.helm.sh/release-name": "theirs"}),
        thing({OF: "demo"}, WRITTEN, **{proof.ADOPT: "true"}),
    ],
)
def test_what_is_or_may_be_someone_elses_is_refused_as_before(live: dict[str, Any]) -> None:
    assert disowned.fault(thing(OURS), live) == proof.fault(thing(OURS), live) != ""


def test_nothing_is_wrong_with_what_has_its_labels() -> None:
    assert disowned.fault(thing(OURS), thing(OURS, WRITTEN)) == disowned.fault(thing(OURS), None) == ""
