# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An object that lost its labels is not to be deleted: the message has the command that gives them back."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof

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
    why = owners.foreign_object_error(thing(OURS), thing(labels, WRITTEN))
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
def test_what_is_or_may_be_someone_elses_is_refused(live: dict[str, Any]) -> None:
    why = owners.foreign_object_error(thing(OURS), live)
    assert why.startswith(f"it exists already and {proof.holder(live)}. Objects of others are not changed.")
    for words in (
        "another namespace (flower_namespace), or delete it, which deletes its data: kubectl delete persistentvolumeclaim superlink-outputs -n flower.",
        "under another name before: kubectl get persistentvolumeclaim superlink-outputs -n flower -o yaml.",
    ):
        assert words in why
    assert proof.ADOPT not in why


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "Secret", "Service"])
def test_an_annotation_does_not_have_an_object_of_others_changed(kind: str) -> None:
    theirs, wanted = ({**thing(labels, **notes), "kind": kind} for labels, notes in (({}, {}), (OURS, {proof.ADOPT: "true"})))
    why = owners.foreign_object_error(wanted, theirs)
    assert "was created by someone else" in why and f"The annotation {proof.ADOPT} has no effect any more" in why
    assert ("deletes its data" in why) is (kind == "PersistentVolumeClaim")
    assert owners.foreign_object_error(wanted, None) == owners.foreign_object_error(wanted, {**thing(OURS, WRITTEN), "kind": kind}) == ""


def test_objects_outside_of_namespaces_have_no_namespace_in_the_remedy() -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    why = owners.foreign_object_error({**volume, "metadata": {"name": "v", "labels": OURS}}, volume)
    assert "Delete it, which deletes its data: kubectl delete persistentvolume v. If" in why and "flower_namespace" not in why


def test_namespaces_have_remedies_of_their_own() -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flower"}}
    assert "flower_create_namespace to false" in owners.foreign_object_error({**space, "metadata": {"name": "flower", "labels": OURS}}, space)


def test_nothing_is_wrong_with_what_has_its_labels() -> None:
    assert owners.foreign_object_error(thing(OURS), thing(OURS, WRITTEN)) == owners.foreign_object_error(thing(OURS), None) == ""
