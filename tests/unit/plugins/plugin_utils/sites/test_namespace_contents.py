# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a namespace: kinds of all versions, claims that another tool created, and rights in the whole cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ApiError, Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespace_contents, removing
from ansible_collections.federated.flower.tests.unit.rows import each_row

Object = dict[str, Any]
OURS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "flower"}
RBAC = "rbac.authorization.k8s.io"


class Apis(Cluster):
    """An API server with kinds in several versions.

    Args:
        versions: version -> plural -> kind; the first version of a group is the preferred one.
        objects: plural -> objects; those of core kinds as well.
    """

    def __init__(self, versions: dict[str, dict[str, str]], objects: dict[str, list[Object]]) -> None:
        self.name, self.requests = "hub", 0
        self._kinds: dict[str, Any] = {}
        self.versions = {"v1": {"configmaps": "ConfigMap"}, **versions}
        self.objects = objects
        self.refused: set[str] = set()
        self.asked: list[str] = []

    def request(self, method: str, path: str, **more: Any) -> Object:
        self.asked.append(path)
        if path == "/apis":
            groups: dict[str, list[Object]] = {}
            for version in self.versions:
                if "/" in version:
                    groups.setdefault(version.partition("/")[0], []).append({"groupVersion": version})
            return {"groups": [{"preferredVersion": found[0], "versions": found[::-1]} for found in groups.values()]}
        version = path.removeprefix("/apis/").removeprefix("/api/")
        if version in self.refused:
            raise ApiError("hub", path, 503, {"message": "not now"})
        if version in self.versions:
            kinds = self.versions[version].items()
            return {"resources": [{"name": plural, "kind": kind, "namespaced": True, "verbs": ["list"]} for plural, kind in kinds]}
        return {"items": [dict(one) for one in self.objects.get(path.rpartition("/")[2], [])]}

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        found = self.objects.get("record", [])
        if isinstance(found, ApiError):
            raise found
        return next((one for one in found if one["metadata"]["name"] == name), None)

    def access_review(self, checks: Any) -> list[bool]:
        return [True for _check in checks]


def there(name: str, labels: dict[str, str] | None = None, **meta: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "flower", "uid": f"uid-{name}", "labels": labels or {}, **meta}}


def seen(cluster: Cluster) -> list[str]:
    listed, _unseen = namespace_contents.everything(cluster, "flower")
    return [f"{one['apiVersion']} {one['kind']} {one['metadata']['name']}" for one in listed]


def test_kinds_that_another_version_than_the_preferred_one_has() -> None:
    group = "cluster.open-cluster-management.io"
    versions = {f"{group}/v1": {"policies": "Policy"}, f"{group}/v1beta1": {"policies": "Policy", "placements": "Placement"}}
    cluster = Apis(versions, {"policies": [there("once")], "placements": [there("theirs")]})
    assert seen(cluster) == [f"{group}/v1 Policy once", f"{group}/v1beta1 Placement theirs"]
    assert (
        namespace_contents.of_others(cluster, "flower", "flower", owners.PART_HUB)
        == "it contains Placement theirs, Policy once, not known to be of this collection"
    )


def test_contents_of_objects_are_not_kept() -> None:
    """Each kind may have as much as one list may take."""
    cluster = Apis({}, {"configmaps": [{**there("large"), "type": "x", "data": {"a": "b"}, "spec": {}}]})
    assert [sorted(one) for one in namespace_contents.everything(cluster, "flower")[0]] == [["apiVersion", "kind", "metadata", "type"]]


def test_a_version_that_does_not_answer_keeps_the_namespace() -> None:
    cluster = Apis({"example.com/v1": {"things": "Thing"}, "example.com/v1beta1": {"others": "Other"}}, {})
    cluster.refused = {"example.com/v1beta1"}
    assert (
        namespace_contents.of_others(cluster, "flower", "flower", owners.PART_HUB)
        == "its other contents are unknown: example.com/v1beta1 cannot be listed"
    )


def test_what_operator_lifecycle_manager_shows_in_every_namespace_does_not_count() -> None:
    versions = {
        "packages.operators.coreos.com/v1": {"packagemanifests": "PackageManifest"},
        "operators.coreos.com/v2": {"operatorconditions": "OperatorCondition"},
        "operators.coreos.com/v1alpha1": {"clusterserviceversions": "ClusterServiceVersion"},
    }
    package = {"metadata": {"name": "zync-operator", "namespace": "flower"}}
    copied = there("web-terminal.v1", {"olm.copiedFrom": "openshift-operators"})
    cluster = Apis(versions, {"packagemanifests": [package], "clusterserviceversions": [copied]})
    assert namespace_contents.of_others(cluster, "flower", "flower", owners.PART_HUB) == ""
    assert not any("packages.operators.coreos.com" in path for path in cluster.asked)
    cluster.objects["clusterserviceversions"] = [there("theirs.v1"), there("original.v1", {"olm.copiedFrom": "flower"})]
    assert namespace_contents.of_others(cluster, "flower", "flower", owners.PART_HUB) == (
        "it contains ClusterServiceVersion original.v1, ClusterServiceVersion theirs.v1, not known to be of this collection"
    )


@pytest.mark.parametrize("kind", ["service-account-token", "dockercfg"])
def test_what_a_cluster_makes_for_an_account_goes_a_moment_after_it(kind: str) -> None:
    """On OpenShift every namespace stayed: its Secrets for pulling images are there still when the accounts are gone."""
    secret = {"kind": "Secret", "type": f"kubernetes.io/{kind}"}
    owned = {**secret, **there("supernode-x", ownerReferences=[{"kind": "ServiceAccount", "name": "supernode", "uid": "gone"}])}
    named = {**secret, **there("supernode-y", annotations={"kubernetes.io/service-account.name": "supernode"})}
    theirs = {**secret, **there("their-registry")}
    assert namespace_contents.others([owned, named, theirs], "flower", owners.PART_HUB) == [theirs]
    account = {"kind": "ServiceAccount", **there("supernode")}
    assert namespace_contents.others([owned, named, account], "flower", owners.PART_HUB) == [account]


def test_what_belonged_to_pods_that_are_gone_does_not_count() -> None:
    """Network plugins keep an object of each pod, and Kubernetes deletes it after the pod."""
    pod, widget = {"kind": "Pod", "name": "supernode-cpu-0", "uid": "gone"}, {"kind": "Widget", "name": "w", "uid": "not listed"}
    made = {"kind": "CiliumEndpoint", **there("supernode-cpu-0", ownerReferences=[pod])}
    both = {"kind": "Thing", **there("both", ownerReferences=[pod, widget])}
    assert namespace_contents.others([made, both], "flower", owners.PART_SITE) == [both]
    theirs = {"kind": "Pod", **there("supernode-cpu-0"), "metadata": {**there("supernode-cpu-0")["metadata"], "uid": "gone"}}
    assert namespace_contents.others([made, theirs], "flower", owners.PART_SITE) == [theirs]


LEASE = {"kind": "Lease", **there("skupper-site-leader")}


@each_row(
    ("objects", "stay"),
    [
        ([], []),  # its Site is gone
        ([{"kind": "Site", **there("ours", OURS)}], []),
        ([{"kind": "Site", **there("theirs")}], ["theirs"]),
        ([{"kind": "Site", **there("ours", OURS)}, {"kind": "Lease", **there("theirs")}], ["theirs"]),
        ([{"kind": "Site", **there("ours", OURS)}, {"kind": "ConfigMap", **there("skupper-site-leader")}], ["skupper-site-leader"]),
    ],
)
def test_the_lease_of_routers_goes_with_a_site_of_ours(objects: list[Object], stay: list[str]) -> None:
    """kube-adaptor makes it without owner or labels: every namespace of a Skupper network stayed."""
    assert [one["metadata"]["name"] for one in namespace_contents.others([LEASE, *objects], "flower", owners.PART_SITE)] == stay


# ---- claims


def claim(name: str, application: str = "superlink", **labels: str) -> Object:
    own = {"app.kubernetes.io/name": application, "app.kubernetes.io/component": application, proof.INSTANCE: "flower"}
    return {"kind": "PersistentVolumeClaim", **there(name, {**own, **labels})}


POOL = {"federated.flower/pool": "cpu"}
OPERATOR = {proof.MANAGED_BY: "flower-operator"}


@pytest.mark.parametrize("one", [claim("data-superlink-0"), claim("scratch-supernode-cpu-1", "supernode", **POOL)])
def test_a_claim_of_a_statefulset_of_ours(one: Object) -> None:
    part = owners.part_of(one)
    assert removing.goes(one, "flower") and namespace_contents.others([one], "flower", part) == []
    (other,) = {owners.PART_HUB, owners.PART_SITE} - {part}
    assert namespace_contents.others([one], "flower", other) == [one] and "it also contains" in namespace_contents.words([one], other)


@each_row(
    "one",
    [
        claim("data-hospital-superlink-0", **OPERATOR),
        claim("data-hospital-supernode-cpu-0", "supernode", **OPERATOR, **{"app.kubernetes.io/component": "pool-cpu"}),
        claim("data-superlink-0", **OPERATOR),
        claim("data-supernode-cpu-0", "supernode", **OPERATOR, **POOL),
        # Of a maker that does not label its claims with its own name.
        claim("data-flower-superlink-0"),
        claim("data-flower-supernode-0", "supernode"),
        claim("data-superlink-0", **{"app.kubernetes.io/component": "database"}),
        claim("data-superlink-0", "postgresql"),
        claim("data-supernode-gpu-0", "supernode", **POOL),
    ],
)
def test_a_claim_of_a_statefulset_of_others_stays(one: Object) -> None:
    assert removing.goes(one, "flower") is False
    for part in (owners.PART_HUB, owners.PART_SITE):
        assert namespace_contents.others([one], "flower", part) == [one]
        assert namespace_contents.words([one], part) == f"it contains PersistentVolumeClaim {one['metadata']['name']}, not known to be of this collection"


# ---- rights


def hub(*kinds: str) -> Apis:
    """A hub whose namespaces go, with a record of rights of these kinds."""
    named = [applyset.group_kind(kind) for kind in kinds]
    record = applyset.parent_object("rights", "flower", named, ["flower-ca"]) if kinds else None
    return Apis({}, {"record": [record] if record else []})


def namespace(name: str) -> Object:
    return {"metadata": {"name": name, "labels": OURS, "annotations": {proof.CREATED_FOR: "flower"}}}


ASKED = removing.Removal("flower", "superlink", "flower", ca_namespace="flower-ca", volumes=True)


@pytest.mark.parametrize("name", ["flower", "flower-ca"])
def test_a_namespace_stays_while_rights_in_the_whole_cluster_are_recorded(name: str) -> None:
    def reason(cluster: Apis) -> str:
        return removing._reason_to_stay(cluster, ASKED, namespace(name), [])

    words = reason(hub(f"Role.{RBAC}", f"ClusterRoleBinding.{RBAC}", "ServiceAccount"))
    assert "ConfigMap flower/applyset-rights records rights in the whole cluster" in words and "flower_rbac_state=absent" in words
    assert reason(hub(f"Role.{RBAC}", f"RoleBinding.{RBAC}", "ServiceAccount")) == reason(hub()) == ""


def binding(name: str, *subjects: tuple[str, str]) -> Object:
    """A ClusterRoleBinding as kubectl applies it from the file of playbooks/rbac.yml, for accounts (namespace, name), or groups (C("", name))."""
    who = [{"kind": "ServiceAccount" if place else "Group", "name": named, **({"namespace": place} if place else {})} for place, named in subjects]
    return {"metadata": {"name": name, "labels": {**OURS, "app.kubernetes.io/component": "rights"}}, "subjects": who}


@each_row("name", ["flower", "flower-ca"])
@each_row(
    ("subjects", "stays"),
    [
        ([("flower-ca", "flower-controller")], True),
        ([("flower", "flower-controller")], True),
        ([("", "flower-auditors"), ("awx", "runner"), ("flower-ca", "second")], True),
        ([("", "flower-auditors")], False),
        ([("awx", "runner")], False),
        # Of another federation of this name in the same cluster.
        ([("flower-b-ca", "flower-controller")], False),
        ([], False),
    ],
)
def test_a_namespace_stays_while_a_binding_of_a_file_names_its_account(name: str, subjects: list[tuple[str, str]], stays: bool) -> None:
    cluster = hub()
    cluster.objects["clusterrolebindings"] = [binding("flower-hub-controller-flower", *subjects)]
    words = removing._reason_to_stay(cluster, ASKED, namespace(name), [])
    assert words.startswith("ClusterRoleBinding flower-hub-controller-flower gives its accounts rights in the whole cluster") is stays
    assert ("-l app.kubernetes.io/component=rights,app.kubernetes.io/instance=flower" in words) is stays and bool(words) is stays


def test_a_binding_counts_where_the_record_of_its_set_was_lost_or_may_not_be_seen() -> None:
    cluster = hub()
    cluster.objects["clusterrolebindings"] = [binding("lost", ("flower", "flower-controller"))]
    cluster.objects["clusterrolebindings"][0]["metadata"]["labels"][applyset.PART_OF] = applyset.set_id("rights", "flower")
    cluster.objects["record"] = Forbidden("hub", "GET", 403, {"message": "no"})  # type: ignore[assignment]
    assert "ClusterRoleBinding lost" in removing._reason_to_stay(cluster, ASKED, namespace("flower"), [])


def test_who_may_not_list_bindings_does_not_list_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An administrator of a project of OpenShift."""
    cluster = hub()
    monkeypatch.setattr(Apis, "access_review", lambda _self, checks: [one["resource"] != "clusterrolebindings" for one in checks])
    assert removing._reason_to_stay(cluster, ASKED, namespace("flower"), []) == ""
    assert not any("clusterrolebindings" in path for path in cluster.asked)
