# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing Skupper's controller: manifests as kubectl would place them, and what OpenShift's operator says."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import cluster_state, controller
from ansible_collections.federated.flower.tests.unit.rows import each_row

WRITTEN = [{"manager": "federated.flower", "operation": "Apply"}]
MEMBER = {applyset.PART_OF: applyset.set_id("skupper-controller", "skupper")}
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
    assert controller.location(spec) == f"{controller.RELEASES}/2.2.5/skupper-cluster-scope.yaml"
    assert controller.location(replace(spec, manifests="/tmp/a.yaml")) == "/tmp/a.yaml"
    assert controller.home(spec) == "skupper" and controller.home(replace(spec, scope="namespace")) == "flower"
    assert controller.home(parsed_network_site(install="operator")) == "openshift-operators"


def test_manifests_are_placed_as_kubectl_would(site_spec):
    account, binding, role, deployment = controller.placed(controller.read(MANIFESTS, "", "x"), "flower")
    assert account["metadata"]["namespace"] == "flower" and deployment["metadata"]["namespace"] == "own"
    assert binding["subjects"][0]["namespace"] == "flower" and "namespace" not in binding["subjects"][1]
    assert "namespace" not in role["metadata"]
    assert controller.release(deployment) == "2.2.1" and controller.image(deployment).endswith("controller:2.2.1")


@each_row(
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


def test_an_operator_group_of_someone_else_is_used(parsed_network_site):
    spec = parsed_network_site(install="operator", operator_namespace="skupper")
    for name in ("admins", "skupper-operator"):
        theirs = [{"metadata": {"name": name}, "spec": {}}]
        assert [one["kind"] for one in controller.subscription(spec, theirs)] == ["Subscription"]
    # Left out, ours would be pruned.
    ours = [{"metadata": {"name": "skupper-operator", "labels": MEMBER}}]
    assert [one["kind"] for one in controller.subscription(spec, groups=ours)] == ["OperatorGroup", "Subscription"]


def definition(*managers):
    return {"metadata": {"name": "sites.skupper.io", "managedFields": [{"manager": one} for one in managers]}}


def running(namespace, *, alone=False):
    container = {"image": "quay.io/skupper/controller:2.2.4", "env": [{"name": "WATCH_NAMESPACE"}] if alone else []}
    return {
        "metadata": {"name": "skupper-controller", "namespace": namespace},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_a_controller_of_someone_else_in_another_namespace(parsed_network_site):
    spec = parsed_network_site(install="manifests")
    fault = controller.others_error(spec, definition("helm"), [running("platform")])
    assert "Skupper is installed already: Deployment platform/skupper-controller (quay.io/skupper/controller:2.2.4)" in fault
    assert "CustomResourceDefinition sites.skupper.io was created by someone else (field manager helm)" in fault
    assert "Set skupper_site_install to none" in fault
    # Manifests would overwrite the definitions for a single namespace, too.
    assert controller.others_error(parsed_network_site(install="manifests", scope="namespace"), definition("helm"))
    # OpenShift's operator has its own way with the definitions, and a second controller is one too many all the same.
    operator = parsed_network_site(install="operator")
    assert "would serve the same Sites" in controller.others_error(operator, definition("helm"), [running("platform")])


def test_what_is_no_obstacle_to_an_installation(parsed_network_site):
    spec = parsed_network_site(install="manifests")
    assert controller.others_error(spec, None) == ""
    assert controller.others_error(spec, definition("federated.flower"), ()) == "", "its Deployment was lost"
    assert controller.others_error(spec, definition("federated.flower"), [running("team", alone=True)]) == ""
    alone = parsed_network_site(install="manifests", scope="namespace")
    assert controller.others_error(alone, definition("federated.flower"), [running("platform")]) == ""
    operator = parsed_network_site(install="operator")
    assert controller.others_error(operator, definition("olm"), [running("openshift-operators")]) == "", (
        "it is installed again"
    )


class Installed(Cluster):
    """What a cluster has of Skupper."""

    def __init__(self, *found, olm=True):
        self.name, self.found, self.olm = "site-a", found, olm

    def get(self, api_version, kind, name, namespace=None):
        """By kind, name and namespace."""
        chosen = [one for one in self.list(api_version, kind, namespace) if one["metadata"]["name"] == name]
        return chosen[0] if chosen else None

    def list(self, api_version, kind, namespace=None, **_chosen):
        """By kind and namespace."""
        if kind == "Subscription" and not self.olm:
            raise NotServed("site-a", "GET", 404, {"message": "no matches"})
        return [
            one for one in self.found if one["kind"] == kind and namespace in (None, one["metadata"].get("namespace"))
        ]


def test_what_is_looked_for_before_an_installation(parsed_network_site):
    manifests, operator = (parsed_network_site(install=way) for way in ("manifests", "operator"))
    theirs = {"kind": "CustomResourceDefinition", **definition("helm")}
    elsewhere = {"kind": "Deployment", **running("platform")}
    assert cluster_state.install_error(Installed(theirs, elsewhere), parsed_network_site()) == "", "none is to be installed"
    assert "platform/skupper-controller" in cluster_state.install_error(Installed(theirs, elsewhere), manifests)
    assert cluster_state.install_error(Installed(theirs, {"kind": "Deployment", **running("skupper")}), manifests) == "", (
        "it is used"
    )
    one = {"kind": "Subscription", **subscription()}
    assert cluster_state.install_error(Installed(theirs, one), operator) == ""
    one["metadata"]["namespace"] = "platform"
    assert "Set skupper_site_operator_namespace to platform" in cluster_state.install_error(Installed(theirs, one), operator)
    assert "no Operator Lifecycle Manager" in cluster_state.install_error(Installed(olm=False), operator)


def subscription(channel="stable-2", approval="Automatic", **status):
    return {
        "metadata": {"namespace": "openshift-operators", "name": "x"},
        "spec": {"name": "skupper-operator", "channel": channel, "installPlanApproval": approval},
        "status": status,
    }


def test_generations_are_not_crossed():
    assert "upgrades do not support" in controller.channel_fault(subscription("stable-1"))
    assert controller.channel_fault(subscription("stable-2.2")) == ""


def test_what_an_operator_lacks():
    waiting = controller.operator_state(
        subscription(approval="Manual", installPlanRef={"name": "install-1"}), None, None
    )
    assert waiting.failed and "install-1 waits for an administrator's approval" in waiting.why
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


SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "skupper", "labels": {"a": "b"}}}
MARKED = {"name": "skupper", "labels": {"app.kubernetes.io/managed-by": "federated.flower"}}
COPIED = {
    "manager": "kubectl",
    "operation": "Update",
    "fieldsV1": {"f:metadata": {"f:labels": {"f:kubernetes.io/metadata.name": {}}}},
}


@each_row(
    ("live", "marked"),
    [(None, True), ({"metadata": MARKED}, True), ({"metadata": {"name": "skupper"}}, False)],
)
def test_a_namespace_that_was_there_is_not_marked(live, marked):
    other = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "skupper-controller"}}
    made, same = controller.marked([SPACE, other], live)
    assert made["metadata"]["labels"] == {"a": "b", **(MARKED["labels"] if marked else {})} and same == other
    assert SPACE["metadata"]["labels"] == {"a": "b"}


@each_row(
    ("live", "goes"),
    [
        ({"metadata": {**MARKED, "managedFields": WRITTEN}}, True),
        ({"metadata": MARKED}, False),  # the label alone proves nothing
        ({"metadata": {**MARKED, "managedFields": [*WRITTEN, COPIED]}}, False),
        ({"metadata": {"name": "skupper", "managedFields": WRITTEN}}, False),
        (None, False),
    ],
)
def test_a_namespace_goes_only_if_this_collection_created_it(live, goes):
    assert controller.why_stays(live, []) == ("" if goes else "it was not created by this collection")
    if goes:
        left = [item("Secret", "pull"), item("Pod", "x", deletionTimestamp="2026-11-21T10:00:00Z")]
        assert controller.why_stays(live, left) == "it contains Secret pull"
        assert controller.why_stays(live, [], "it is not known") == "it is not known"


def item(kind, name, labels=None, **meta):
    return {"kind": kind, "metadata": {"name": name, "uid": f"{kind} {name}", "labels": labels or {}, **meta}}
