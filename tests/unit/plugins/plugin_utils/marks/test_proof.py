# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose an object is, by labels, annotations and managedFields as API servers write them, and what is said of one that is someone else's.

An object that lost its labels is not to be deleted: the message has the command that gives them back.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.shared_namespace import selects

OURS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "demo"}
APPLIED = {"manager": "federated.flower", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}
# What `kubectl create namespace` leaves (Kubernetes 1.33).
CREATED = {
    "manager": "kubectl-create",
    "operation": "Update",
    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}},
}
# What OpenShift's controllers add later.
ANNOTATED = {
    "manager": "cluster-policy-controller",
    "operation": "Update",
    "fieldsV1": {"f:metadata": {"f:annotations": {"f:openshift.io/sa.scc.mcs": {}}}},
}


def thing(kind: str = "Service", labels: Any = None, managers: Any = (), **notes: str) -> dict[str, Any]:
    meta = {"name": "superlink", "namespace": "flower", "labels": labels or {}, "managedFields": list(managers)}
    return {"apiVersion": "v1", "kind": kind, "metadata": {**meta, "annotations": notes}}


def space(labels: Any = None, managers: Any = (), **notes: str) -> dict[str, Any]:
    return thing("Namespace", labels, managers, **notes)


def test_what_is_selected_belongs_to_the_federation() -> None:
    pods = proof.pods_query("demo", "supernode", "clientapp")
    assert selects(pods, {**OURS, "app.kubernetes.io/name": "clientapp"})
    assert not selects(pods, {**OURS, "app.kubernetes.io/name": "superlink"})
    for label in OURS:
        other = {**OURS, "app.kubernetes.io/name": "supernode", label: "other"}
        assert not selects(pods, other) and not proof.belongs(thing(labels=other), "demo")


def test_every_pod_that_is_rendered_is_selected(goldens: dict[str, list[dict[str, Any]]]) -> None:
    for name, objects in goldens.items():
        for item in objects:
            labels = item["metadata"].get("labels") or {}
            template = item["spec"]["template"] if item["kind"] in ("StatefulSet", "DaemonSet", "Deployment") else None
            if template is not None:
                own = template["metadata"]["labels"]
                selector = proof.pods_query(labels["app.kubernetes.io/instance"], own["app.kubernetes.io/name"])
                assert selects(selector, own), f"{name}: {item['metadata']['name']}"


def test_what_may_be_changed() -> None:
    for live in (None, thing(labels=OURS), thing(labels=OURS, managers=[APPLIED])):
        assert owners.foreign_object_error(thing(labels=OURS), live) == ""
    assert owners.foreign_object_error(thing(), thing()) == "", "a user's own objects are the user's"


HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "x"}


@each_row(
    "live, words",
    [
        (thing(labels={**OURS, proof.INSTANCE: "other"}), "belongs to the federation other"),
        (thing(labels={proof.MANAGED_BY: "Helm"}), "is managed by Helm"),
        (thing(labels={**OURS, proof.MANAGED_BY: "Helm"}, managers=[APPLIED]), "is managed by Helm"),
        (thing(**HELM), "Helm release x/web"),
        (thing(labels={proof.INSTANCE: "demo"}, managers=[{"manager": "kubectl-create"}]), "field manager kubectl-create"),
        (thing(), "was created by someone else"),
        # This collection wrote to these, but not alone or not for this federation.
        (thing(labels={proof.INSTANCE: "other"}, managers=[APPLIED]), "was created by someone else"),
        (thing(labels={proof.INSTANCE: "demo"}, managers=[APPLIED], **HELM), "Helm release x/web"),
        (thing(labels={proof.INSTANCE: "demo"}, managers=[APPLIED], **{proof.ADOPT: "true"}), "was created by someone else"),
    ],
)
def test_what_is_or_may_be_someone_elses_is_refused_with_who_manages_it_and_the_remedy(live: Any, words: str) -> None:
    why = owners.foreign_object_error(thing(labels=OURS), live)
    assert why.startswith("it exists already and ") and words in why and "Objects of others are not changed." in why
    assert "another namespace (flower_namespace), or delete it: kubectl delete service superlink -n flower." in why
    assert "under another name before: kubectl get service superlink -n flower -o yaml." in why
    assert proof.ADOPT not in why


@each_row(
    "labels, given",
    [
        ({proof.INSTANCE: "demo"}, f"{proof.MANAGED_BY}=federated.flower"),
        ({proof.MANAGED_BY: "federated.flower"}, f"{proof.INSTANCE}=demo"),
        ({}, f"{proof.MANAGED_BY}=federated.flower {proof.INSTANCE}=demo"),
    ],
)
def test_what_lost_its_labels_gets_them_back(labels: Any, given: str) -> None:
    why = owners.foreign_object_error(thing(labels=OURS), thing(labels=labels, managers=[APPLIED]))
    assert f"Give it back: kubectl label service superlink -n flower {given}." in why
    assert "Delete or rename" not in why and "Do not delete it" in why


@each_row("kind", ["PersistentVolumeClaim", "Secret", "Service"])
def test_an_annotation_does_not_have_an_object_of_others_changed(kind: str) -> None:
    wanted = thing(kind, OURS, **{proof.ADOPT: "true"})
    why = owners.foreign_object_error(wanted, thing(kind))
    assert "was created by someone else" in why and f"The annotation {proof.ADOPT} has no effect any more" in why
    assert ("deletes its data" in why) is (kind == "PersistentVolumeClaim")
    assert owners.foreign_object_error(wanted, None) == owners.foreign_object_error(wanted, thing(kind, OURS, [APPLIED])) == ""


def test_objects_outside_of_namespaces_have_no_namespace_in_the_remedy() -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    why = owners.foreign_object_error({**volume, "metadata": {"name": "v", "labels": OURS}}, volume)
    assert "Delete it, which deletes its data: kubectl delete persistentvolume v. If" in why and "flower_namespace" not in why


def test_namespaces_have_remedies_of_their_own() -> None:
    others = space({**OURS, proof.INSTANCE: "other"})
    whys = [owners.foreign_object_error(space(OURS), live) for live in (space(), others)]
    assert all("supernode_namespace or superlink_namespace, where that is set" in why for why in whys), "flower_namespace has no effect then"
    assert "flower_create_namespace to false" in whys[0]
    assert "federation other" in whys[1] and "flower_create_namespace" not in whys[1]


def test_what_an_earlier_release_adopted_is_not_deleted() -> None:
    assert not proof.may_delete(thing(labels=OURS, managers=[APPLIED], **{proof.ADOPT: "true"}), "demo")
    assert proof.may_delete(thing(labels=OURS, managers=[APPLIED]), "demo")


@pytest.mark.parametrize("live", [None, thing(labels=OURS)])
def test_there_is_nothing_to_adopt(live: Any) -> None:
    wanted = thing(labels=OURS, **{proof.ADOPT: "true"})
    assert proof.prepared(wanted, live)["metadata"] == {**thing(labels=OURS)["metadata"], "annotations": {}} or (
        "annotations" not in proof.prepared(wanted, live)["metadata"]
    )
    assert proof.belongs(proof.prepared(wanted, live), "demo")


def test_a_namespace_is_marked_when_it_is_created_and_never_later() -> None:
    assert proof.prepared(space(OURS), None)["metadata"]["annotations"] == {proof.CREATED_FOR: "demo"}
    assert "annotations" not in proof.prepared(space(OURS), space(OURS))["metadata"]
    marked = space(OURS, **{proof.CREATED_FOR: "demo"})
    assert proof.prepared(space(OURS), marked)["metadata"]["annotations"] == {proof.CREATED_FOR: "demo"}


@each_row(
    "live, ours",
    [
        (space(OURS, [APPLIED], **{proof.CREATED_FOR: "demo"}), True),
        (space(OURS, [APPLIED, CREATED], **{proof.CREATED_FOR: "demo"}), True),
        (space(OURS, [APPLIED], **{proof.CREATED_FOR: "other"}), False),
        # made by releases without that annotation
        (space(OURS, [APPLIED]), True),
        (space(OURS, [APPLIED, ANNOTATED]), True),
        (space(OURS, [APPLIED, CREATED]), False),
        (space(OURS, [APPLIED, {"manager": "kubectl", "operation": "Apply"}]), False),
        (space(OURS, [CREATED]), False),
        (space(OURS), False),
        (space({}, [APPLIED]), False),
        (space({**OURS, "app.kubernetes.io/instance": "other"}, [APPLIED]), False),
    ],
)
def test_who_created_a_namespace(live: Any, ours: bool) -> None:
    assert proof.created(live, "demo") is ours


@each_row(
    "live, ours",
    [
        (thing(labels=OURS, managers=[APPLIED]), True),
        (thing(labels=OURS, managers=[{"manager": "kubectl-client-side-apply"}]), False),  # a copy of one of ours
        (thing(labels={**OURS, "app.kubernetes.io/instance": "other"}, managers=[APPLIED]), False),
        (thing(managers=[APPLIED]), False),
        (thing("Secret", OURS, [{"manager": "cert-manager"}], **{"cert-manager.io/certificate-name": "x"}), True),
    ],
)
def test_what_may_be_deleted(live: Any, ours: bool) -> None:
    assert proof.may_delete(live, "demo") is ours
