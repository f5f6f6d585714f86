# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing Skupper's controller: manifests as kubectl would place them, and what OpenShift's operator says."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.skupper import controller

MANIFESTS = b"""
apiVersion: v1
kind: ServiceAccount
metadata: {name: skupper-controller}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: skupper-controller}
subjects:
  - {kind: ServiceAccount, name: skupper-controller}
  - {kind: User, name: ann}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: skupper-controller}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: skupper-controller}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: skupper-controller, namespace: own}
spec: {template: {spec: {containers: [{name: controller, image: "quay.io:443/skupper/controller:2.2.1"}]}}}
"""


def test_where_the_manifests_are(parsed_network_site):
    spec = parsed_network_site(install="manifests")
    assert controller.location(spec) == f"{controller.RELEASES}/2.2.1/skupper-cluster-scope.yaml"
    assert controller.location(replace(spec, manifests="/tmp/a.yaml")) == "/tmp/a.yaml"
    assert controller.home(spec) == "skupper" and controller.home(replace(spec, scope="namespace")) == "flower"
    assert controller.home(parsed_network_site(install="operator")) == "openshift-operators"


def test_manifests_are_placed_as_kubectl_would(site_spec):
    account, binding, role, deployment = controller.placed(controller.read(MANIFESTS, "", "x"), "flower")
    assert account["metadata"]["namespace"] == "flower" and deployment["metadata"]["namespace"] == "own"
    assert binding["subjects"][0]["namespace"] == "flower" and "namespace" not in binding["subjects"][1]
    assert "namespace" not in role["metadata"]
    assert controller.release(deployment) == "2.2.1" and controller.image(deployment).endswith("controller:2.2.1")


@pytest.mark.parametrize(
    ("image", "tag"), [("quay.io:443/a/b", ""), ("a/b:v2-latest", "v2-latest"), ("a/b:1.2@sha256:0", "1.2"), ("", "")]
)
def test_release_of_an_image(image, tag):
    assert controller.release({"spec": {"template": {"spec": {"containers": [{"image": image}]}}}}) == tag


@pytest.mark.parametrize(
    ("content", "checksum", "said"),
    [
        (MANIFESTS, "sha256:" + "0" * 64, "not sha256:0000"),
        (b"a: [", "", "is not YAML"),
        (b"- 1", "", "not a Kubernetes object"),
        (b"kind: Namespace\napiVersion: v1\nmetadata: {name: a}", "", "has no Deployment skupper-controller"),
    ],
)
def test_manifests_that_are_none(content, checksum, said):
    with pytest.raises(ValueError, match=said):
        controller.read(content, checksum, "file")
    digest = f"sha256:{hashlib.sha256(MANIFESTS).hexdigest()}"
    assert len(controller.read(MANIFESTS, digest, "file")) == 4


def test_subscription(parsed_network_site):
    (made,) = controller.subscription(parsed_network_site(install="operator", operator_csv="skupper-operator.v2.2.1-rh-1"))
    assert made["spec"] == {
        "channel": "stable-2",
        "name": "skupper-operator",
        "source": "redhat-operators",
        "sourceNamespace": "openshift-marketplace",
        "installPlanApproval": "Automatic",
        "startingCSV": "skupper-operator.v2.2.1-rh-1",
    }
    group, _subscription = controller.subscription(parsed_network_site(install="operator", operator_namespace="skupper"))
    assert group["kind"] == "OperatorGroup" and group["spec"] == {}


def subscription(channel="stable-2", approval="Automatic", **status):
    return {
        "metadata": {"namespace": "openshift-operators", "name": "x"},
        "spec": {"name": "skupper-operator", "channel": channel, "installPlanApproval": approval},
        "status": status,
    }


def test_generations_are_not_crossed():
    assert "no upgrade crosses" in controller.channel_fault(subscription("stable-1"))
    assert controller.channel_fault(subscription("stable-2.2")) == ""


def test_what_an_operator_lacks():
    waiting = controller.operator_state(
        subscription(approval="Manual", installPlanRef={"name": "install-1"}), None, None
    )
    assert waiting.hopeless and "install-1 waits for an administrator's approval" in waiting.why
    failed = [{"type": "ResolutionFailed", "status": "True", "message": "no such package"}]
    assert "no such package" in controller.operator_state(subscription(conditions=failed), None, None).why
    installed = subscription(installedCSV="skupper-operator.v2.2.1")
    assert "is not there" in controller.operator_state(installed, None, None).why
    pending = {"status": {"phase": "Installing", "message": "waiting"}}
    assert "is Installing: waiting" in controller.operator_state(installed, pending, None).why
    done = {"status": {"phase": "Succeeded"}}
    assert "Deployment skupper-controller does not exist" in controller.operator_state(installed, done, None).why
    deployment = {
        "metadata": {"generation": 1},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, "updatedReplicas": 1, "replicas": 1, "availableReplicas": 1},
    }
    assert controller.operator_state(installed, done, deployment).ready


@pytest.mark.parametrize(
    ("live", "ours"),
    [
        (None, True),
        ({"metadata": {"name": "skupper", "labels": {"app.kubernetes.io/managed-by": "federated.flower"}}}, True),
        ({"metadata": {"name": "skupper"}}, False),
    ],
)
def test_a_namespace_that_was_there_is_not_marked_and_stays(live, ours):
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "skupper", "labels": {"a": "b"}}}
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "skupper-controller"}}
    made, same = controller.marked([space, other], live)
    assert made["metadata"]["labels"] == {"a": "b", **(controller.OURS if ours else {})} and same == other
    assert space["metadata"]["labels"] == {"a": "b"}
    found = made if live is None else live
    assert controller.why_stays(found, []) == ("" if ours else "it was not created by this collection")
    assert ("it contains Pod x" in controller.why_stays(found, ["Pod x"])) is ours
