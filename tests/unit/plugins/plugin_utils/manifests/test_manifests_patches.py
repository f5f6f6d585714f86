# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches on objects."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import patches
from ansible_collections.federated.flower.tests.unit.rows import each_row

POD = {
    "containers": [
        {
            "name": "a",
            "image": "1",
            "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
            "args": ["p", "q"],
        },
        {"name": "b", "ports": [{"name": "web", "containerPort": 80}]},
    ],
    "nodeSelector": {"disk": "ssd", "zone": "1"},
    "tolerations": [{"key": "old"}],
}
OBJ = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "n"}, "spec": POD}


def patched(patch, kind=None):
    before = copy.deepcopy(OBJ)
    [after] = patches.apply([OBJ], [{"target": {"kind": "Pod", "name": "x"}, "patch": patch, "type": kind}])
    assert before == OBJ
    return after["spec"]


def test_strategic_merges_lists_by_key():
    spec = patched(
        {"spec": {"containers": [{"name": "a", "env": [{"name": "Y", "value": "3"}, {"name": "Z", "value": "4"}]}]}}
    )
    assert [c["name"] for c in spec["containers"]] == ["a", "b"]
    assert spec["containers"][0]["image"] == "1"
    assert [(e["name"], e["value"]) for e in spec["containers"][0]["env"]] == [("X", "1"), ("Y", "3"), ("Z", "4")]


def test_strategic_replaces_other_lists_and_deletes_with_null():
    spec = patched({"spec": {"tolerations": [{"key": "new"}], "nodeSelector": {"disk": None}}})
    assert spec["tolerations"] == [{"key": "new"}]
    assert spec["nodeSelector"] == {"zone": "1"}
    assert patched({"spec": {"containers": [{"name": "a", "args": ["r"]}]}})["containers"][0]["args"] == ["r"]


def test_strategic_directives():
    assert [
        c["name"] for c in patched({"spec": {"containers": [{"name": "a", "$patch": "delete"}]}})["containers"]
    ] == ["b"]
    assert patched({"spec": {"containers": [{"name": "c"}, {"$patch": "replace"}]}})["containers"] == [{"name": "c"}]
    assert patched({"spec": {"nodeSelector": {"$patch": "replace", "a": "b"}}})["nodeSelector"] == {"a": "b"}
    assert "nodeSelector" not in patched({"spec": {"nodeSelector": {"$patch": "delete"}}})
    with pytest.raises(patches.PatchError, match="setElementOrder"):
        patched({"spec": {"$setElementOrder/containers": [{"name": "b"}]}})
    with pytest.raises(patches.PatchError, match="has no name"):
        patched({"spec": {"containers": [{"image": "x"}]}})


def test_ports_merge_by_number():
    spec = patched(
        {
            "spec": {
                "containers": [{"name": "b", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]}]
            }
        }
    )
    assert spec["containers"][1]["ports"] == [{"name": "http", "containerPort": 80}, {"containerPort": 81}]


def test_json_merge_patch_replaces_lists():
    assert patched({"spec": {"containers": [{"name": "c"}]}}, "merge")["containers"] == [{"name": "c"}]


@each_row(
    ("operations", "path", "value"),
    [
        (
            [{"op": "add", "path": "/spec/containers/0/args/1", "value": "n"}],
            ("containers", 0, "args"),
            ["p", "n", "q"],
        ),
        (
            [{"op": "add", "path": "/spec/containers/0/args/-", "value": "n"}],
            ("containers", 0, "args"),
            ["p", "q", "n"],
        ),
        ([{"op": "remove", "path": "/spec/containers/0/args/0"}], ("containers", 0, "args"), ["q"]),
        ([{"op": "replace", "path": "/spec/nodeSelector/disk", "value": "x"}], ("nodeSelector", "disk"), "x"),
        ([{"op": "add", "path": "/spec/nodeSelector/a.b~1c", "value": "x"}], ("nodeSelector", "a.b/c"), "x"),
        ([{"op": "move", "from": "/spec/nodeSelector/zone", "path": "/spec/zone"}], ("zone",), "1"),
        ([{"op": "copy", "from": "/spec/nodeSelector", "path": "/spec/copy"}], ("copy", "disk"), "ssd"),
        ([{"op": "test", "path": "/spec/nodeSelector/zone", "value": "1"}], ("nodeSelector", "zone"), "1"),
    ],
)
def test_json_patch(operations, path, value):
    found = patched(operations)
    for step in path:
        found = found[step]
    assert found == value


@each_row(
    "operation",
    [
        {"op": "remove", "path": "/spec/none"},
        {"op": "replace", "path": "/spec/none", "value": 1},
        {"op": "add", "path": "/spec/none/deep", "value": 1},
        {"op": "add", "path": "/spec/containers/9", "value": 1},
        {"op": "test", "path": "/spec/nodeSelector/zone", "value": "2"},
        {"op": "add", "path": "spec", "value": 1},
        {"op": "add", "path": "/spec/x"},
        {"op": "move", "path": "/spec/x"},
        {"op": "turn", "path": "/spec"},
        {"op": "remove", "path": ""},
        {},
    ],
)
def test_json_patch_that_does_not_fit(operation):
    with pytest.raises(patches.PatchError, match=r"patches\[0\] \(Pod/x\)"):
        patched([operation])


def test_patch_without_target():
    patch = {"target": {"kind": "Pod", "name": "y"}, "patch": {}}
    with pytest.raises(patches.PatchError, match="which is not one of: Pod/x"):
        patches.apply([OBJ], [patch])
    assert patches.apply([OBJ], [patch], partial=True) == [OBJ]


RENDERED = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "s", "namespace": "n", "labels": {"app.kubernetes.io/managed-by": "federated.flower", "own": "1"}},
    "spec": {
        "replicas": 1, "serviceName": "s", "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"federated.flower/pool": "cpu"}},
            "spec": {
                "restartPolicy": "Always", "volumes": [{"name": "keys", "secret": {"secretName": "k"}}],
                "initContainers": [{"name": "sidecar", "image": "h:1"}],
                "containers": [
                    {"name": "supernode", "image": "s:1", "args": ["a"], "env": [{"name": "FLOWER_INDEX", "value": "0"}, {"name": "A", "value": "1"}]}
                ],
            },
        },
    },
}  # fmt: skip


def pod(**spec):
    return {"spec": {"template": {"spec": spec}}}


@each_row(
    ("patch", "words"),
    [
        ({"spec": None}, "removes spec"),
        ({"spec": []}, "makes spec a list, which is a mapping"),
        ({"spec": 5}, "makes spec a single value"),
        ({"metadata": "x"}, "changes apiVersion, kind, name or namespace"),
        ({"metadata": None}, "changes apiVersion, kind, name or namespace"),
        ({"metadata": {"labels": None}}, "changes metadata.labels[app.kubernetes.io/managed-by], by which"),
        ({"metadata": {"labels": []}}, "makes metadata.labels a list"),
        ({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}, "changes metadata.labels[app.kubernetes.io/managed-by]"),
        ({"metadata": {"labels": {"federated.flower/pool": "x"}}}, "changes metadata.labels[federated.flower/pool]"),
        ({"metadata": {"ownerReferences": [{"uid": "1"}]}}, "sets metadata.ownerReferences, which only Kubernetes"),
        ({"metadata": {"finalizers": ["a/b"]}}, "sets metadata.finalizers"),
        ({"metadata": {"resourceVersion": "5"}}, "sets metadata.resourceVersion"),
        ({"spec": {"replicas": 5}}, "changes spec.replicas"),
        ({"spec": {"replicas": None}}, "changes spec.replicas"),
        ({"spec": {"selector": {"matchLabels": {"a": "c"}}}}, "changes spec.selector"),
        ({"spec": {"template": None}}, "removes spec.template"),
        ({"spec": {"template": {"metadata": {"labels": {"federated.flower/pool": "x"}}}}}, "changes spec.template.metadata.labels[federated.flower/pool]"),
        (pod(containers=None), "removes spec.template.spec.containers"),
        (pod(containers=[{"name": "supernode", "$patch": "delete"}]), "removes the container supernode"),
        (pod(containers=[{"name": "supernode", "image": None}]), "containers has 'supernode', which has no image"),
        (pod(containers=[{"name": "supernode", "env": [{"name": "FLOWER_INDEX", "$patch": "delete"}]}]), "changes FLOWER_INDEX of the container supernode"),
        (pod(containers=[{"name": "supernode", "env": [{"name": "FLOWER_INDEX", "value": "7"}]}]), "changes FLOWER_INDEX of the container supernode"),
        (pod(containers=[{"name": "supernode", "env": True}]), "makes spec.template.spec.containers[0].env a single value"),
        (pod(containers=[{"name": "supernode", "args": {"a": 1}}]), "makes spec.template.spec.containers[0].args a mapping"),
        (pod(initContainers=True), "makes spec.template.spec.initContainers a single value"),
        (pod(initContainers=None), "removes the container sidecar"),
        (pod(volumes=None), "removes spec.template.spec.volumes"),
        (pod(restartPolicy="Never"), "changes spec.template.spec.restartPolicy"),
        ([{"op": "replace", "path": "/spec", "value": None}], "makes spec null"),
        ([{"op": "replace", "path": "/spec/template/spec/containers/0", "value": None}], "makes spec.template.spec.containers[0] null"),
        ([{"op": "add", "path": "", "value": []}], "changes apiVersion, kind, name or namespace"),
    ],
)  # fmt: skip
def test_what_ownership_and_the_roles_rest_on_stays(patch, words):
    with pytest.raises(patches.PatchError, match=r"patches\[0\] \(StatefulSet/s\)") as error:
        patches.apply([RENDERED], [{"target": {"kind": "StatefulSet", "name": "s"}, "patch": patch}])
    assert words in str(error.value)


@each_row(
    "patch",
    [
        {"metadata": {"labels": {"own": None, "new": "2"}, "annotations": {"federated.flower/adopt": "true"}}},
        {"spec": {"podManagementPolicy": "Parallel"}},
        pod(containers=[{"name": "supernode", "image": "s:2", "args": ["b"], "env": [{"name": "A", "$patch": "delete"}]}, {"name": "more", "image": "m"}]),
        pod(hostAliases=[{"ip": "192.0.2.1", "hostnames": ["a"]}], initContainers=[{"name": "wait", "image": "w"}], volumes=[{"name": "v", "emptyDir": {}}]),
    ],
)  # fmt: skip
def test_other_patches_are_applied(patch):
    (after,) = patches.apply([RENDERED], [{"target": {"kind": "StatefulSet", "name": "s"}, "patch": patch}])
    assert after != RENDERED


def test_a_file_of_a_config_map_stays():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"haproxy.cfg": "x", "b": "y"}}
    for patch in ({"data": None}, {"data": {"haproxy.cfg": None}}, {"data": {"haproxy.cfg": ["x"]}}):
        with pytest.raises(patches.PatchError, match="data"):
            patches.apply([config], [{"target": {"kind": "ConfigMap", "name": "c"}, "patch": patch}])
