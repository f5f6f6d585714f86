# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action federated.flower.apply on a real API server, run by ansible-playbook as a user would."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.tests.integration.connect_proxy import ConnectProxy

SECRET = "a-very-secret-value"
Objects = list[dict[str, Any]]


class Run(NamedTuple):
    """One run of the action: its result, whether the task failed, all that was printed, and files left in TMPDIR."""

    result: dict[str, Any]
    failed: bool
    output: str
    left_behind: list[str]

    def changes(self) -> dict[str, str]:
        return {f"{one['kind']}/{one['name']}": one["change"] for one in self.result["objects"]}

    def counts(self) -> set[str]:
        return {one["change"] for one in self.result["objects"]}


class Play:
    """Runs the action against one context of the fleet."""

    def __init__(self, folder: Path, kubeconfig: Path, context: str) -> None:
        self.folder = folder
        self.auth: dict[str, Any] = {"kubeconfig": str(kubeconfig), "context": context}
        self.kubeconfig = kubeconfig
        self.context = context

    def __call__(
        self,
        objects: Objects,
        *flags: str,
        auth: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> Run:
        results = self.folder / f"results-{uuid.uuid4().hex}.jsonl"
        tmp = self.folder / f"tmp-{uuid.uuid4().hex}"
        tmp.mkdir()
        task = {"federated.flower.apply": {"objects": objects, **(self.auth if auth is None else auth), **options}}
        play = {"hosts": "testhost", "gather_facts": False, "tasks": [task]}
        (self.folder / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
        inventory = {"all": {"hosts": {"testhost": {"ansible_connection": "local"}}}}
        (self.folder / "inventory.yml").write_text(json.dumps(inventory), encoding="utf-8")
        settings = {
            "FLOWER_RESULTS": str(results),
            "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "results_json",
            "ANSIBLE_LOCAL_TEMP": str(self.folder / "local"),
            "TMPDIR": str(tmp),
        }
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *flags],
            cwd=self.folder,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("K8S_AUTH_")}, **settings, **(env or {})},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        print(done.stdout)
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        assert len(lines) == 1, done.stdout
        line = json.loads(lines[0])
        return Run(line["result"], line["failed"], done.stdout, [path.name for path in tmp.iterdir()])

    def ok(self, objects: Objects, *flags: str, **options: Any) -> Run:
        run = self(objects, *flags, **options)
        assert not run.failed, run.result.get("msg")
        assert run.left_behind == []
        return run

    def fails(self, objects: Objects, *flags: str, **options: Any) -> Run:
        run = self(objects, *flags, **options)
        assert run.failed, run.result
        assert run.left_behind == []
        return run


@pytest.fixture
def play(tmp_path: Path, fleet_kubeconfig: Path, fleet_contexts: list[str]) -> Play:
    return Play(tmp_path, fleet_kubeconfig, fleet_contexts[0])


@pytest.fixture
def cluster(fleet_kubeconfig: Path, fleet_contexts: list[str]) -> Iterator[Cluster]:
    with connect({"kubeconfig": str(fleet_kubeconfig), "context": fleet_contexts[0]}) as one:
        yield one


@pytest.fixture
def ns(cluster: Cluster) -> Iterator[str]:
    """A name for a namespace; the namespace is deleted afterwards."""
    name = f"apply-test-{uuid.uuid4().hex[:8]}"
    yield name
    for kind, version in (
        ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        ("Namespace", "v1"),
    ):
        for obj in cluster.list(version, kind):
            if name in obj["metadata"]["name"]:
                cluster.delete(version, kind, obj["metadata"]["name"], propagation="Background")


@pytest.fixture
def made(cluster: Cluster, ns: str) -> str:
    """A namespace that exists."""
    cluster.create(namespace(ns))
    deadline = time.monotonic() + 30
    while cluster.get("v1", "ServiceAccount", "default", ns) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    return ns


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config(ns: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": ns}, "data": data}


def secret(ns: str, value: str = SECRET, name: str = "keys") -> dict[str, Any]:
    meta = {"name": name, "namespace": ns}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"password": value}}


def stateful_set(ns: str, storage: str = "1024Mi", **spec: Any) -> dict[str, Any]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    container = {
        "name": "main",
        "image": "example.invalid/none:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "app", "namespace": ns},
        "spec": {
            "replicas": 0,
            "serviceName": "app",
            "selector": {"matchLabels": {"app": "app"}},
            "template": {
                "metadata": {"labels": {"app": "app"}},
                "spec": {"containers": [container], "hostNetwork": False},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
            **spec,
        },
    }


def full(ns: str) -> Objects:
    """One of each kind that the collection makes, with everything the API server likes to rewrite."""
    service = {"selector": {"app": "app"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
    policy = {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}],
    }
    return [
        secret(ns),
        config(ns, text="one\ntwo\n"),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app", "namespace": ns}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app", "namespace": ns}, "spec": service},
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "app", "namespace": ns},
            "spec": policy,
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "app", "namespace": ns},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "app"}}},
        },
        stateful_set(ns),
        namespace(ns),  # last on purpose: namespaces are made first
    ]


def crd(ns: str) -> dict[str, Any]:
    group = f"{ns}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema, "status": schema}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def widget(ns: str) -> dict[str, Any]:
    meta = {"name": "one", "namespace": ns}
    return {"apiVersion": f"{ns}.example.com/v1", "kind": "Widget", "metadata": meta, "spec": {"sizes": [1, 2]}}


# ---- what it does ----------------------------------------------------------------------------------------------------


def test_check_mode_tells_the_truth_on_an_empty_cluster(play: Play, cluster: Cluster, ns: str) -> None:
    objects = [widget(ns), *full(ns), crd(ns)]
    foreseen = play.ok(objects, "--check", "--diff", applyset="app", applyset_namespace=ns)
    assert foreseen.counts() == {"created"}
    assert cluster.get("v1", "Namespace", ns) is None
    real = play.ok(objects, applyset="app", applyset_namespace=ns)
    assert real.changes() == foreseen.changes()


def test_second_run_changes_nothing_and_writes_nothing(play: Play, cluster: Cluster, ns: str) -> None:
    objects = full(ns)
    first = play.ok(objects)
    assert first.result["changed"] is True
    assert first.changes()["Namespace/" + ns] == "created"
    assert first.result["msg"] == "8 created on testhost"
    versions = [_version(cluster, obj) for obj in objects]
    for flags in ((), ("--check",)):
        again = play.ok(objects, *flags)
        assert again.counts() == {"unchanged"}
        assert again.result["changed"] is False
        assert again.result["requests"] == len(objects)  # one read per object, not one write
    assert [_version(cluster, obj) for obj in objects] == versions


def _version(cluster: Cluster, obj: dict[str, Any]) -> str:
    meta = obj["metadata"]
    live = cluster.get(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
    assert live is not None
    return live["metadata"]["resourceVersion"]


def test_objects_of_a_set_are_read_by_list(play: Play, ns: str) -> None:
    objects = [namespace(ns), *(config(ns, f"part-{n}", text=str(n)) for n in range(20))]
    play.ok(objects, applyset="parts", applyset_namespace=ns)
    again = play.ok(objects, applyset="parts", applyset_namespace=ns)
    assert again.counts() == {"unchanged"}
    assert again.result["requests"] == 3  # the namespace, the set's record, the list of ConfigMaps


def test_drift_and_removed_fields_are_seen(play: Play, cluster: Cluster, ns: str) -> None:
    labelled = config(ns, a="1", b="2")
    labelled["metadata"]["labels"] = {"colour": "red"}
    objects = [namespace(ns), labelled, stateful_set(ns)]
    play.ok(objects)

    cluster.patch("v1", "ConfigMap", "settings", ns, {"data": {"a": "changed by hand", "c": "not ours"}})
    assert play.ok(objects, "--check").changes()["ConfigMap/settings"] == "changed"
    seen = play.ok(objects, "--diff")
    assert seen.changes() == {
        f"Namespace/{ns}": "unchanged",
        "ConfigMap/settings": "changed",
        "StatefulSet/app": "unchanged",
    }
    assert "-  a: changed by hand" in seen.output and "+  a: '1'" in seen.output

    cluster.patch("v1", "ConfigMap", "settings", ns, {"data": {"b": None}})
    assert play.ok(objects).changes()["ConfigMap/settings"] == "changed"

    del labelled["data"]["b"], labelled["metadata"]["labels"]
    assert play.ok(objects).changes()["ConfigMap/settings"] == "changed"
    live = cluster.get("v1", "ConfigMap", "settings", ns)
    assert live is not None and live["data"] == {"a": "1", "c": "not ours"} and "labels" not in live["metadata"]

    container = objects[2]["spec"]["template"]["spec"]["containers"][0]
    container["env"] = []
    del container["ports"]
    assert play.ok(objects).changes()["StatefulSet/app"] == "changed"
    assert play.ok(objects).counts() == {"unchanged"}


def test_what_another_manager_owns_is_taken_over(play: Play, cluster: Cluster, made: str) -> None:
    cluster.request(
        "POST", f"/api/v1/namespaces/{made}/configmaps", body=config(made, a="1"), query={"fieldManager": "other"}
    )
    assert play.ok([config(made, a="1")]).counts() == {"unchanged"}  # same content, but now it is ours too
    assert play.ok([config(made, a="2")]).counts() == {"changed"}


def test_what_a_gitops_controller_sets_is_not_taken(play: Play, cluster: Cluster, made: str) -> None:
    """Neither would give in: the two would undo each other's changes."""
    wanted, other = ours(config(made, a="1", b="1")), ours(config(made, "other", a="1"))
    play.ok([wanted])
    held = ours(config(made, a="2"))
    path = f"/api/v1/namespaces/{made}/configmaps/settings"
    query = {"fieldManager": "kustomize-controller", "force": "true"}
    cluster.request("PATCH", path, body=held, query=query, content_type="application/apply-patch+yaml")

    for flags in ((), ("--check",)):
        run = play.fails([other, wanted], *flags)
        assert "ConfigMap" in run.result["msg"] and "field manager kustomize-controller owns .data.a with another value" in run.result["msg"]
        (error,) = run.result["errors"]
        assert (error["name"], error["category"]) == ("settings", "held")
    assert cluster.get("v1", "ConfigMap", "other", made) is None, "something was written"
    assert cluster.get("v1", "ConfigMap", "settings", made)["data"] == {"a": "2", "b": "1"}

    # What both want alike belongs to both; what someone changes by hand is reverted.
    agreed = ours(config(made, a="2", b="1"))
    assert play.ok([agreed]).counts() == {"unchanged"}
    cluster.patch("v1", "ConfigMap", "settings", made, {"data": {"b": "3"}})
    assert play.ok([agreed]).counts() == {"changed"}
    assert cluster.get("v1", "ConfigMap", "settings", made)["data"] == {"a": "2", "b": "1"}

    # By its owner's leave.
    released = {"metadata": {"annotations": {"federated.flower/take-fields-from": "kustomize-controller"}}}
    cluster.patch("v1", "ConfigMap", "settings", made, released)
    assert play.ok([wanted]).counts() == {"changed"}
    assert cluster.get("v1", "ConfigMap", "settings", made)["data"]["a"] == "1"


def test_what_a_gitops_controller_would_create_again_is_not_deleted(play: Play, cluster: Cluster, made: str) -> None:
    one, two = ours(config(made, "one", a="1")), ours(config(made, "two", a="1"))
    options = {"applyset": "held", "applyset_namespace": made}
    play.ok([one, two], **options)
    path = f"/api/v1/namespaces/{made}/configmaps/two"
    query = {"fieldManager": "kustomize-controller"}
    cluster.request("PATCH", path, body=two, query=query, content_type="application/apply-patch+yaml")
    for objects, gone in (([ours(config(made, "one", a="2"))], {}), ([], {"state": "absent"})):
        run = play.fails(objects, **options, **gone)
        assert f"ConfigMap {made}/two: kustomize-controller would create it again" in run.result["msg"]
    assert cluster.get("v1", "ConfigMap", "one", made)["data"] == {"a": "1"}, "something was written"
    # It is not in its source any more.
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
    cluster.request("PATCH", path, body=bare, query=query, content_type="application/apply-patch+yaml")
    assert play.ok([one], **options).changes()["ConfigMap/two"] == "deleted"


def test_equal_values_in_another_form_are_no_change(play: Play, ns: str) -> None:
    data = base64.encodebytes(b"x" * 100).decode()  # line breaks, which the API server drops
    blob = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "blob", "namespace": ns}, "data": {"x": data}}
    custom = widget(ns)
    objects = [namespace(ns), crd(ns), blob, custom]
    play.ok(objects)
    again = play.ok(objects)
    assert again.counts() == {"unchanged"}


def test_prune_takes_only_what_the_set_made(play: Play, cluster: Cluster, ns: str) -> None:
    options = {"applyset": "app", "applyset_namespace": ns}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": ns},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    other = f"{ns}-b"
    everything = [
        namespace(ns),
        namespace(other),
        config(ns, "kept"),
        config(ns, "dropped"),
        config(other, "far"),
        secret(ns),
        claim,
    ]
    play.ok(everything, **options)
    play.ok([config(ns, "of-another-set")], applyset="other", applyset_namespace=ns)
    cluster.create(config(ns, "by-hand"))
    member = cluster.get("v1", "ConfigMap", "dropped", ns)
    assert member is not None
    copied = config(ns, "copied")  # someone copied a member, labels and all
    copied["metadata"]["labels"] = member["metadata"]["labels"]
    cluster.request("POST", f"/api/v1/namespaces/{ns}/configmaps", body=copied, query={"fieldManager": "kubectl"})

    left = [namespace(ns), config(ns, "kept")]
    foreseen = play.ok(left, "--check", **options)
    pruned = play.ok(left, "--diff", **options)
    gone = {"ConfigMap/dropped": "deleted", "ConfigMap/far": "deleted", "Secret/keys": "deleted"}
    assert {key: value for key, value in pruned.changes().items() if value == "deleted"} == gone
    assert foreseen.changes() == pruned.changes()
    names = {obj["metadata"]["name"] for obj in cluster.list("v1", "ConfigMap", ns)}
    assert names == {
        "kept",
        "of-another-set",
        "by-hand",
        "copied",
        "applyset-app",
        "applyset-other",
        "kube-root-ca.crt",
    }
    assert cluster.get("v1", "PersistentVolumeClaim", "data", ns) is not None
    assert cluster.get("v1", "Namespace", other) is not None
    record = cluster.get("v1", "ConfigMap", "applyset-app", ns)
    assert record is not None
    assert record["metadata"]["annotations"] == {
        "applyset.kubernetes.io/tooling": "federated.flower/v0.1.0",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap",
    }
    assert play.ok(left, **options).result["changed"] is False
    dropped = play.ok([namespace(ns)], prune=False, **options)
    assert dropped.result["changed"] is False
    cluster.delete("v1", "Namespace", other)


def test_absent_removes_the_list_and_the_set(play: Play, cluster: Cluster, made: str) -> None:
    options = {"applyset": "app", "applyset_namespace": made}
    play.ok([config(made, "one"), secret(made)], **options)
    assert play.ok([secret(made)], "--check", state="absent", **options).changes() == {
        "ConfigMap/one": "deleted",
        "Secret/keys": "deleted",
    }
    gone = play.ok([secret(made)], state="absent", wait=True, **options)
    assert gone.changes() == {"ConfigMap/one": "deleted", "Secret/keys": "deleted"}
    assert {obj["metadata"]["name"] for obj in cluster.list("v1", "ConfigMap", made)} == {"kube-root-ca.crt"}
    unknown = {"apiVersion": "nothing.example.com/v1", "kind": "Nothing", "metadata": {"name": "x", "namespace": made}}
    for flags in ((), ("--check",)):
        again = play.ok([secret(made), unknown], *flags, state="absent", **options)
        assert again.counts() == {"unchanged"}
        assert "warnings" not in again.result


def test_a_namespace_that_is_going_is_awaited(play: Play, cluster: Cluster, ns: str) -> None:
    objects = [namespace(ns), config(ns)]
    options = {"applyset": "app", "applyset_namespace": ns}
    play.ok(objects, **options)
    cluster.delete("v1", "Namespace", ns)
    assert play.ok(objects, wait_timeout=60, **options).counts() == {"created"}
    assert play.ok(objects, wait_timeout=60, **options).counts() == {"unchanged"}
    assert play.ok([namespace(ns)], state="absent", wait=True, wait_timeout=60).counts() == {"deleted"}
    assert cluster.get("v1", "Namespace", ns) is None


def test_check_mode_on_a_namespace_that_is_going(play: Play, cluster: Cluster, ns: str) -> None:
    objects = [namespace(ns), config(ns)]
    options = {"applyset": "app", "applyset_namespace": ns}
    held = config(ns, "held")
    held["metadata"]["finalizers"] = ["example.com/held"]
    play.ok([*objects, held], **options)
    cluster.delete("v1", "Namespace", ns, propagation="Background")
    run = play.ok(objects, "--check", **options)
    bare = {"metadata": {"finalizers": None}}
    cluster.patch("v1", "ConfigMap", "held", ns, bare)
    assert run.counts() == {"created"}, run.changes()
    assert "is being deleted" in run.result["warnings"][0]


# ---- whose it is -----------------------------------------------------------------------------------------------------


def ours(obj: dict[str, Any], instance: str = "demo", **notes: str) -> dict[str, Any]:
    """An object as the roles render their own."""
    labels = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": instance}
    return {**obj, "metadata": {**obj["metadata"], "labels": labels, **({"annotations": notes} if notes else {})}}


def theirs(cluster: Cluster, obj: dict[str, Any], manager: str = "kubectl-create") -> dict[str, Any]:
    """Make an object as another tool would."""
    resource = cluster.resource(obj["apiVersion"], obj["kind"])
    path = resource.path(obj["metadata"].get("namespace"))
    return cluster.request("POST", path, query={"fieldManager": manager}, body=obj)


def test_what_someone_else_made_is_refused_before_anything_is_written(play: Play, cluster: Cluster, made: str) -> None:
    theirs(cluster, config(made, "settings", theirs="1"))
    theirs(cluster, secret(made))
    objects = [ours(config(made, "first")), ours(config(made, a="1")), ours(secret(made))]
    options = {"applyset": "app", "applyset_namespace": made}
    for flags in ((), ("--check",)):
        run = play.fails(objects, *flags, **options)
        assert {one["category"] for one in run.result["errors"]} == {"foreign"}
        for word in (
            f"ConfigMap {made}/settings",
            f"Secret {made}/keys",
            "field manager kubectl-create",
            "flower_namespace",
        ):
            assert word in run.result["msg"], run.result["msg"]
        assert SECRET not in run.output
    names = {item["metadata"]["name"] for item in cluster.list("v1", "ConfigMap", made)}
    assert names == {"kube-root-ca.crt", "settings"}, "something was written"
    assert cluster.get("v1", "ConfigMap", "settings", made)["data"] == {"theirs": "1"}
    other = ours(config(made, "other"), "other")
    play.ok([other])
    assert "belongs to the federation other" in play.fails([ours(config(made, "other"))]).result["msg"]


def test_an_annotation_does_not_have_an_object_of_others_changed(play: Play, cluster: Cluster, made: str) -> None:
    theirs(cluster, config(made, theirs="1"))
    run = play.fails([ours(config(made, a="1"), **{"federated.flower/adopt": "true"})])
    for words in (f"kubectl delete configmap settings -n {made}", "federated.flower/adopt has no effect any more"):
        assert words in run.result["msg"]
    assert cluster.get("v1", "ConfigMap", "settings", made)["data"] == {"theirs": "1"}


def test_absent_leaves_what_this_collection_never_wrote(play: Play, cluster: Cluster, made: str) -> None:
    theirs(cluster, config(made, theirs="1"))
    play.ok([secret(made)])
    run = play.fails([config(made), secret(made)], state="absent")
    assert "field manager kubectl-create" in run.result["msg"] and run.result["errors"][0]["category"] == "foreign"
    assert cluster.get("v1", "ConfigMap", "settings", made) and cluster.get("v1", "Secret", "keys", made)


def test_a_namespace_is_marked_when_it_is_created(play: Play, cluster: Cluster, ns: str) -> None:
    mark = "federated.flower/created-for"
    wanted = ours(namespace(ns))
    play.ok([wanted], "--check")
    play.ok([wanted])
    assert cluster.get("v1", "Namespace", ns)["metadata"]["annotations"][mark] == "demo"
    assert play.ok([wanted]).counts() == {"unchanged"}
    assert play.ok([ours(namespace(ns), note="1")]).counts() == {"changed"}
    assert cluster.get("v1", "Namespace", ns)["metadata"]["annotations"] == {mark: "demo", "note": "1"}
    other = f"{ns}-theirs"
    theirs(cluster, namespace(other))
    run = play.fails([ours(namespace(other)), ours(config(other))])
    assert "flower_create_namespace" in run.result["msg"] and "kubectl-create" in run.result["msg"]
    assert "labels" not in cluster.get("v1", "Namespace", other)["metadata"] or not {
        name
        for name in cluster.get("v1", "Namespace", other)["metadata"]["labels"]
        if "kubernetes.io/metadata" not in name
    }


def test_the_record_of_a_set_says_whose_it_is(play: Play, cluster: Cluster, made: str) -> None:
    options = {"applyset": "app", "applyset_namespace": made}
    owner = {"federation": "demo", "site": "site-a", "hub": "1"}
    play.ok([config(made)], **options)
    assert play.ok([config(made)], owner=owner, **options).counts() == {"unchanged"}, "older than the record"
    assert play.ok([config(made)], **options).counts() == {"unchanged"}
    for change in ({"site": "site-b"}, {"hub": "2"}, {"federation": "other"}):
        run = play.fails([config(made, a="2")], owner={**owner, **change}, **options)
        assert f"namespace {made} contains" in run.result["msg"] and "flower_claim_sites" in run.result["msg"]
    assert "data" not in cluster.get("v1", "ConfigMap", "settings", made)
    play.ok([config(made)], owner={**owner, "hub": "2"}, claim=True, **options)
    play.ok([config(made)], owner={**owner, "hub": "2"}, **options)


def test_two_parts_share_a_set(play: Play, cluster: Cluster, made: str) -> None:
    options = {"applyset": "rights", "applyset_namespace": made}
    accounts = {
        part: {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": f"account-{part}", "namespace": made, "labels": {"federated.flower/part": part}},
        }
        for part in ("hub", "site")
    }
    roles = {
        part: {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": f"flower-{part}-controller", "namespace": made},
            "rules": [],
        }
        for part in ("hub", "site")
    }
    listed = {part: [accounts[part], roles[part]] for part in accounts}
    for part in ("hub", "site"):
        assert play.ok(listed[part], part=part, **options).counts() == {"created"}
    for part in ("hub", "site"):
        assert play.ok(listed[part], part=part, **options).counts() == {"unchanged"}
    assert play.ok([accounts["site"]], part="site", **options).changes() == {
        "ServiceAccount/account-site": "unchanged",
        "Role/flower-site-controller": "deleted",
    }
    assert play.ok([], part="hub", state="absent", **options).counts() == {"deleted"}
    assert cluster.get("v1", "ConfigMap", "applyset-rights", made), "the other part's record is gone"
    assert play.ok([], part="site", state="absent", **options).changes() == {"ServiceAccount/account-site": "deleted"}
    assert cluster.get("v1", "ConfigMap", "applyset-rights", made) is None


# ---- secrets ---------------------------------------------------------------------------------------------------------


def test_secret_values_show_nowhere(play: Play, cluster: Cluster, made: str) -> None:
    outputs = [
        play.ok([secret(made)], "-vvv", "--diff", "--check").output,
        play.ok([secret(made)], "-vvv", "--diff").output,
    ]
    changed = play.ok([secret(made, SECRET + "-new")], "-vvv", "--diff")
    assert changed.counts() == {"changed"}
    outputs.append(changed.output)
    assert "-  password: (masked" in changed.output and "+  password: (masked" in changed.output
    outputs.append(json.dumps(changed.result))
    locked = {**secret(made, SECRET, name="locked"), "immutable": True}
    play.ok([locked])
    refused = play.fails([{**locked, "stringData": {"password": SECRET + "-other"}}], "-vvv", "--diff")
    assert "Secret" in refused.result["msg"] and "cannot be changed" in refused.result["msg"]
    outputs.append(refused.output)
    inner = {"apiVersion": "v1", "kind": "List", "items": [secret(made, SECRET, name="listed")]}
    outputs.append(play.ok([inner], "-vvv", "--diff", return_applied=True).output)
    outputs.append(play.ok([secret(made)], "-vvv", "--diff", state="absent").output)
    for output in outputs:
        assert SECRET not in output
        for text in (SECRET, SECRET + "-new", SECRET + "-other"):
            assert base64.b64encode(text.encode()).decode() not in output


def test_markers_tell_only_whether_a_value_changed(play: Play, made: str) -> None:
    two = secret(made)
    two["stringData"]["other"] = "first"
    play.ok([two])
    two["stringData"]["other"] = "second"
    (entry,) = play.ok([two], "--diff").result["diff"]
    before, after = (yaml.safe_load(entry[key])["data"] for key in ("before", "after"))
    assert before["password"] == after["password"] != before["other"] != after["other"]


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_errors_are_told_per_object_and_do_not_hide_the_others(play: Play, cluster: Cluster, made: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": made}}
    cluster.create({**quota, "spec": {"hard": {"count/services": "0"}}})
    hook = {
        "name": "no.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "clientConfig": {"service": {"name": "none", "namespace": made}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": made}},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["serviceaccounts"]}
        ],
    }
    meta = {"name": f"{made}-hook"}
    cluster.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": meta,
            "webhooks": [hook],
        }
    )
    play.ok([stateful_set(made)])
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": made}}
    unknown = {**config(made, "unknown"), "dataa": {"x": "y"}}
    deadline = time.monotonic() + 20
    while not _status_used(cluster, made) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)  # the API server learns of the webhook by watch
    run = play.fails(
        [
            config(made, "fine-before"),
            {**service, "spec": {"ports": [{"port": 80}]}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa", "namespace": made}},
            unknown,
            config(made, "UPPER"),
            stateful_set(made, storage="2Gi"),
            {
                "apiVersion": "nothing.example.com/v1",
                "kind": "Nothing",
                "metadata": {"name": "none", "namespace": made},
            },
            config("no-such-namespace-here", "lost"),
            config(made, "fine-after"),
        ]
    )
    told = {(one["kind"], one["name"]): one for one in run.result["errors"]}
    assert {key[1]: one["category"] for key, one in told.items()} == {
        "web": "quota",
        "sa": "webhook",
        "unknown": "schema",
        "UPPER": "invalid",
        "app": "immutable",
        "none": "not served",
        "lost": "not found",
    }
    assert "spec.volumeClaimTemplates" in told["StatefulSet", "app"]["message"]
    assert "dataa" in told["ConfigMap", "unknown"]["message"]
    assert "'no.example.com'" in told["ServiceAccount", "sa"]["message"]
    for one in told.values():
        assert one["message"] in run.result["msg"]
    changes = run.changes()
    assert changes["ConfigMap/fine-before"] == changes["ConfigMap/fine-after"] == "created"
    assert run.result["msg"].startswith("testhost: 2 created, 7 failed on testhost: ")


def _status_used(cluster: Cluster, ns: str) -> bool:
    quota = cluster.get("v1", "ResourceQuota", "q", ns)
    return bool(quota and (quota.get("status") or {}).get("hard"))


def test_a_missing_right_is_named(play: Play, cluster: Cluster, made: str) -> None:
    auth = _limited_user(cluster, play, made)
    run = play.fails([config(made, "mine"), secret(made)], auth=auth)
    assert run.changes() == {"ConfigMap/mine": "created", "Secret/keys": "failed"}
    assert (
        f"Secret {made}/keys: forbidden: user system:serviceaccount:{made}:limited cannot get secrets in namespace {made} "
        "(verb get, resource secrets)"
    ) in run.result["msg"]
    assert play.ok([config(made, "mine")], auth=auth).counts() == {"unchanged"}
    # without the right to list, members are read one by one, and pruning says what it could not do and leaves it to a later run
    run = play.ok([config(made, "mine"), config(made, "more")], auth=auth, applyset="limited", applyset_namespace=made)
    assert run.changes() == {"ConfigMap/mine": "changed", "ConfigMap/more": "created"}
    options = {"applyset": "limited", "applyset_namespace": made}
    run = play.ok([config(made, "mine")], auth=auth, **options)
    assert run.result["warnings"] == [
        f"Not pruned: objects of the kind ConfigMap in namespace {made}: forbidden: user system:serviceaccount:{made}:limited cannot list "
        f"configmaps in namespace {made} (verb list, resource configmaps). The record of the set (ConfigMap {made}/applyset-limited) "
        "keeps the kind for a later run."
    ]
    run = play.fails([], auth=auth, state="absent", **options)
    assert "cannot list configmaps" in run.result["msg"] and "Nothing is deleted" in run.result["msg"]
    assert cluster.get("v1", "ConfigMap", "applyset-limited", made), "the record is gone, and with it the way to the others"
    gone = play.ok([], state="absent", **options)
    assert gone.changes() == {"ConfigMap/mine": "deleted", "ConfigMap/more": "deleted"}


def _limited_user(cluster: Cluster, play: Play, ns: str) -> dict[str, Any]:
    """Auth options of a ServiceAccount that may get and patch ConfigMaps, nothing else."""
    meta = {"name": "limited", "namespace": ns}
    rbac = "rbac.authorization.k8s.io"
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "create"]}]
    cluster.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": rules})
    cluster.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "limited"},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
    )
    path = f"/api/v1/namespaces/{ns}/serviceaccounts/limited/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = cluster.request("POST", path, body=body)["status"]["token"]
    trust = play.folder / "ca.crt"
    trust.write_bytes(base64.b64decode(_cluster_entry(play)["certificate-authority-data"]))
    return {"host": cluster.server, "api_key": token, "ca_cert": str(trust)}


def _cluster_entry(play: Play) -> dict[str, Any]:
    kubeconfig = yaml.safe_load(play.kubeconfig.read_text(encoding="utf-8"))
    name = next(one["context"]["cluster"] for one in kubeconfig["contexts"] if one["name"] == play.context)
    return next(one["cluster"] for one in kubeconfig["clusters"] if one["name"] == name)


@pytest.mark.parametrize(
    ("auth", "sentence"),
    [
        ({"context": "no-such"}, "has no context 'no-such'. It has: "),
        ({"host": "https://127.0.0.1:1", "api_key": "x"}, "refuses connections. Check that it is running"),
        ({"host": "https://no-such-name.invalid", "api_key": "x"}, "cannot be resolved"),
        ({"host": "SERVER", "api_key": "x"}, "is not trusted: "),
        ({"host": "SERVER", "api_key": "wrong-token", "validate_certs": False}, "does not accept the credentials"),
    ],
)
def test_no_way_in_is_one_sentence(play: Play, cluster: Cluster, auth: dict[str, Any], sentence: str) -> None:
    auth = {key: cluster.server if value == "SERVER" else value for key, value in auth.items()}
    if "context" in auth:
        auth["kubeconfig"] = str(play.kubeconfig)
    run = play.fails([namespace("default")], auth=auth)
    assert sentence in run.result["msg"]
    assert run.result["msg"].startswith("testhost: ")
    assert "wrong-token" not in run.output
    assert "Traceback" not in run.output


def test_an_unusable_list_is_refused_before_anything_is_made(play: Play, cluster: Cluster, ns: str) -> None:
    run = play.fails(
        [
            namespace(ns),
            {"kind": "ConfigMap"},
            config(ns),
            config(ns),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {}},
        ]
    )
    assert "objects[1]: apiVersion is missing" in run.result["msg"]
    assert f"ConfigMap {ns}/settings is listed twice" in run.result["msg"]
    assert "objects[4]: Secret: metadata.name is missing" in run.result["msg"]
    assert cluster.get("v1", "Namespace", ns) is None


# ---- waiting ---------------------------------------------------------------------------------------------------------


def test_wait_says_what_is_lacking(play: Play, cluster: Cluster, made: str) -> None:
    image = _present_image(cluster)
    crash = _deployment(made, "crash", {"image": image, "command": ["/coredns", "-no-such-flag"]})
    crash["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError"
    crash["spec"]["minReadySeconds"] = 60  # without a readiness probe it is available while it is about to crash
    pull = _deployment(made, "pull", {"image": "example.invalid/none:1"})
    nowhere = _deployment(made, "nowhere", {"image": image})
    nowhere["spec"]["template"]["spec"]["nodeSelector"] = {"no-such": "label"}
    run = play.fails([crash, pull, nowhere, config(made)], wait=True, wait_timeout=15)
    told = {one["name"]: one["message"] for one in run.result["errors"]}
    assert set(told) == {"crash", "pull", "nowhere"}
    assert f"Deployment {made}/crash: not ready after 15 s: 0 of 1 replicas are available" in told["crash"]
    assert "ended with code" in told["crash"] and "no-such-flag" in told["crash"]
    assert "container main " in told["pull"] and "ImagePull" in told["pull"]
    assert "Unschedulable: 0/" in told["nowhere"]
    assert all("event of " in one for one in told.values())
    assert run.changes()["Deployment/crash"] == "created"


def test_wait_ends_when_all_is_ready(play: Play, cluster: Cluster, made: str) -> None:
    container = {"name": "main", "image": _present_image(cluster), "command": ["/coredns", "-version"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "namespace": made},
        "spec": {"template": template},
    }
    objects = [crd(made), widget(made), job]
    run = play.ok(objects, wait=True, wait_timeout=60, return_applied=True)
    status = next(one["status"] for one in run.result["applied"] if one["kind"] == "Job")
    assert status["succeeded"] == 1
    assert play.ok(objects, wait=True).counts() == {"unchanged"}


def _deployment(ns: str, name: str, container: dict[str, Any]) -> dict[str, Any]:
    pod = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", **container}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": ns},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def _present_image(cluster: Cluster) -> str:
    """An image that every cluster has."""
    for pod in cluster.list("v1", "Pod", "kube-system", labels="k8s-app=kube-dns"):
        return pod["spec"]["containers"][0]["image"]
    pytest.skip("the cluster runs no CoreDNS whose image could be used")


# ---- ways in ---------------------------------------------------------------------------------------------------------


def test_host_variables_and_environment_name_the_cluster(play: Play, fleet_kubeconfig: Path) -> None:
    env = {"K8S_AUTH_KUBECONFIG": str(fleet_kubeconfig), "K8S_AUTH_CONTEXT": play.context}
    assert play.ok([namespace("default")], "--check", auth={}, env=env).result["changed"] is False
    flags = ("--check", "-e", f"flower_kubeconfig={fleet_kubeconfig}", "-e", f"flower_context={play.context}")
    assert play.ok([namespace("default")], *flags, auth={}).result["changed"] is False
    extra = json.dumps(
        {"flower_auth": {"kubeconfig": yaml.safe_load(fleet_kubeconfig.read_text()), "context": play.context}}
    )
    assert play.ok([namespace("default")], "--check", "-e", extra, auth={}).result["changed"] is False


def _user_entry(kubeconfig: dict[str, Any], context: str) -> dict[str, Any]:
    name = next(one["context"]["user"] for one in kubeconfig["contexts"] if one["name"] == context)
    return next(one for one in kubeconfig["users"] if one["name"] == name)


def test_exec_credentials(play: Play, made: str, tmp_path: Path) -> None:
    kubeconfig = yaml.safe_load(play.kubeconfig.read_text(encoding="utf-8"))
    user = _user_entry(kubeconfig, play.context)
    if "client-certificate-data" not in user["user"]:
        pytest.skip("the fleet's kubeconfig has no client certificate to hand out")
    status = {
        "clientCertificateData": base64.b64decode(user["user"]["client-certificate-data"]).decode(),
        "clientKeyData": base64.b64decode(user["user"]["client-key-data"]).decode(),
    }
    version = "client.authentication.k8s.io/v1"
    (tmp_path / "credential.json").write_text(
        json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    )
    script = tmp_path / "plugin.sh"
    script.write_text(f"#!/bin/sh\necho asked >>{tmp_path}/asked\ncat {tmp_path}/credential.json\n")
    script.chmod(0o755)
    user["user"] = {"exec": {"apiVersion": version, "command": "./plugin.sh", "interactiveMode": "Never"}}
    path = tmp_path / "exec.kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig))
    auth = {"kubeconfig": str(path), "context": play.context}
    assert play.ok([config(made)], auth=auth).counts() == {"created"}
    assert (tmp_path / "asked").read_text().count("asked") == 1
    # a token that the API server rejects is requested again, once
    stale = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": "stale"}})
    script.write_text(
        f"#!/bin/sh\nif [ -e {tmp_path}/again ]; then cat {tmp_path}/credential.json; exit; fi\n"
        f"touch {tmp_path}/again\necho '{stale}'\n"
    )
    assert play.ok([config(made)], auth=auth).counts() == {"unchanged"}
    script.write_text("#!/bin/sh\necho please log in again >&2\nexit 1\n")
    failed = play.fails([config(made)], auth=auth)
    # What it writes to stderr may have credentials.
    assert "./plugin.sh" in failed.result["msg"] and "ended with code 1" in failed.result["msg"] and "please log in" not in failed.result["msg"]


def test_proxy(play: Play, cluster: Cluster, made: str) -> None:
    with ConnectProxy("user:word") as proxy:
        through = {**play.auth, "proxy": proxy.url, "proxy_headers": {"proxy_basic_auth": "user:word"}}
        assert play.ok([config(made)], auth=through).counts() == {"created"}
        assert proxy.tunnels == 1
        refused = play.fails([config(made)], auth={**play.auth, "proxy": proxy.url})
        assert "proxy" in refused.result["msg"] and proxy.url in refused.result["msg"]
        around = {
            **play.auth,
            "proxy": proxy.url,
            "no_proxy": "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.local",
        }
        assert play.ok([config(made)], auth=around).counts() == {"unchanged"}
        assert proxy.tunnels == 1
        with connect(through) as one:
            _exec_version(one)
        assert proxy.tunnels >= 3


def test_only_what_may_be_repeated_is_repeated(play: Play, made: str) -> None:
    with ConnectProxy("user:word") as proxy:
        through = {**play.auth, "proxy": proxy.url, "proxy_headers": {"proxy_basic_auth": "user:word"}}
        with connect(through) as one:
            assert one.get("v1", "ConfigMap", "settings", made) is None
            proxy.break_next = True
            assert one.get("v1", "ConfigMap", "settings", made) is None
            proxy.break_next = True
            assert one.apply(config(made, a="1"))["data"] == {"a": "1"}
            assert proxy.tunnels == 3
            proxy.break_next = True
            with pytest.raises(Unreachable, match="closed the connection"):
                one.create(config(made, "second"))
            assert one.get("v1", "ConfigMap", "second", made) is None
            proxy.break_next = True
            with pytest.raises(Unreachable, match="closed the connection"):
                one.delete("v1", "ConfigMap", "settings", made)
            assert one.get("v1", "ConfigMap", "settings", made) is not None


def test_impersonation(play: Play, made: str) -> None:
    run = play.fails([config(made)], auth={**play.auth, "impersonate_user": "jane", "impersonate_groups": ["a", "b"]})
    assert f"user jane cannot get configmaps in namespace {made}" in run.result["msg"]


# ---- commands in containers ------------------------------------------------------------------------------------------


def _exec_version(cluster: Cluster) -> None:
    pods = cluster.list("v1", "Pod", "kube-system", labels="k8s-app=kube-dns")
    if not pods:
        pytest.skip("the cluster runs no CoreDNS")
    pod = pods[0]["metadata"]["name"]
    done = cluster.exec("kube-system", pod, "coredns", ["/coredns", "-version"])
    assert done.rc == 0 and done.stdout.startswith(b"CoreDNS")
    done = cluster.exec(
        "kube-system",
        pod,
        None,
        ["/coredns", "-conf", "stdin", "-dns.port", "0"],
        stdin=b".:0 {\n no-such-directive\n}\n",
    )
    assert done.rc == 1 and b"no-such-directive" in done.stdout + done.stderr
    with pytest.raises(ClusterError, match="no such file"):
        cluster.exec("kube-system", pod, None, ["/no-such-command"])
    with pytest.raises(ClusterError, match='pods "no-such-pod" not found'):
        cluster.exec("kube-system", "no-such-pod", None, ["x"])


def test_exec(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    _exec_version(cluster)
    assert list(tmp_path.iterdir()) == []
