# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose an object is, by labels, annotations and managedFields as API servers write them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
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
    assert proof.fault(thing(labels=OURS), None) == ""
    assert proof.fault(thing(labels=OURS), thing(labels=OURS)) == ""
    assert proof.fault(thing(), thing()) == "", "a user's own objects are the user's"


@pytest.mark.parametrize(
    "live, words",
    [
        (thing(labels={**OURS, "app.kubernetes.io/instance": "other"}), "belongs to the federation other"),
        (thing(labels={"app.kubernetes.io/managed-by": "Helm"}), "is managed by Helm"),
        (thing(labels={**OURS, "app.kubernetes.io/managed-by": "Helm"}), "is managed by Helm"),
        (thing(**{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "x"}), "Helm release x/web"),
        (thing(managers=[{"manager": "kubectl-create"}]), "field manager kubectl-create"),
        (thing(), "was created by someone else"),
    ],
)
def test_what_is_refused_names_who_manages_it_and_the_way_out(live: Any, words: str) -> None:
    fault = proof.fault(thing(labels=OURS), live)
    assert words in fault and "flower_namespace" in fault


def test_namespaces_have_ways_out_of_their_own() -> None:
    for fault in (proof.fault(space(OURS), space()), proof.fault(space(OURS), space({**OURS, "app.kubernetes.io/instance": "other"}))):
        assert "supernode_namespace or superlink_namespace, where that is set" in fault, "flower_namespace has no effect then"
    assert "flower_create_namespace" in proof.fault(space(OURS), space())
    other = {**OURS, "app.kubernetes.io/instance": "other"}
    fault = proof.fault(space(OURS), space(other))
    assert "federation other" in fault and "flower_create_namespace" not in fault


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
