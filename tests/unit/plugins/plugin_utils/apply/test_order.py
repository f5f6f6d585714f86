# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import Id, id_of, prepare
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError


def obj(kind: str, name: str, namespace: str | None = None, api_version: str = "v1", **more: Any) -> dict[str, Any]:
    meta = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def test_order() -> None:
    crd = obj("CustomResourceDefinition", "crd", api_version="apiextensions.k8s.io/v1")
    ready = prepare([obj("ConfigMap", "b", "n"), crd, obj("ConfigMap", "a", "n"), obj("Namespace", "n")])
    assert [one["metadata"]["name"] for one in ready] == ["n", "crd", "b", "a"]


def test_lists_are_unfolded() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [obj("ConfigMap", "b", "n")]}
    ready = prepare([{"apiVersion": "v1", "kind": "List", "items": [obj("ConfigMap", "a", "n"), inner]}, None])
    assert [str(id_of(one)) for one in ready] == ["ConfigMap n/a", "ConfigMap n/b"]


def test_what_belongs_to_the_api_server_is_dropped() -> None:
    given = obj("ConfigMap", "a", "n", status={"x": 1}, data={"k": "v", "none": None})
    given["metadata"].update(uid="u", resourceVersion="1", managedFields=[], creationTimestamp=None, labels={"a": "b"})
    before = repr(given)
    (ready,) = prepare([given])
    assert ready == obj("ConfigMap", "a", "n", data={"k": "v"}) | {
        "metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}}
    }
    assert repr(given) == before


def test_string_data_becomes_data() -> None:
    (ready,) = prepare([obj("Secret", "s", "n", data={"a": "eA=="}, stringData={"b": "y", "a": "z"})])
    assert ready["data"] == {"a": "eg==", "b": "eQ=="}
    assert "stringData" not in ready


def test_faults_are_told_together() -> None:
    with pytest.raises(ClusterError) as error:
        prepare(
            [
                "text",
                {"kind": "ConfigMap"},
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}},
                obj("ConfigMap", "a", "n"),
                obj("ConfigMap", "a", "n"),
                obj("Secret", "s", "n", data={"k": "abc"}),
            ]
        )
    assert error.value.message == (
        "The list of objects is invalid: objects[0]: not an object but str; objects[1]: apiVersion is missing; "
        "objects[2]: Pod: metadata.name is missing (generateName cannot be applied); "
        "objects[5] (Secret s): data.k is not base64 (use stringData for plain text); ConfigMap n/a is listed twice"
    )


def test_id_ignores_the_version() -> None:
    one, other = obj("HPA", "a", "n", "autoscaling/v1"), obj("HPA", "a", "n", "autoscaling/v2")
    assert id_of(one) == id_of(other) == Id("autoscaling", "HPA", "n", "a")
    assert str(id_of(obj("Node", "x"))) == "Node x"
