# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import Id


def test_record() -> None:
    ids = [
        Id("", "ConfigMap", "flower", "a"),
        Id("apps", "StatefulSet", "flower", "b"),
        Id("", "Secret", "other", "c"),
        Id("", "Namespace", "", "flower"),
        Id("", "PersistentVolumeClaim", "third", "d"),
    ]
    kinds, namespaces = applyset.kinds_and_namespaces(ids, "flower")
    parent = applyset.parent_object("hub", "flower", kinds, namespaces)
    assert parent["metadata"]["name"] == "applyset-hub"
    assert parent["metadata"]["annotations"] == {
        "applyset.kubernetes.io/tooling": "federated.flower/v0.1.0",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Secret,StatefulSet.apps",
        "applyset.kubernetes.io/additional-namespaces": "other",
    }
    assert applyset.noted(parent) == (kinds, namespaces)
    assert applyset.noted(None) == (set(), set())


def test_what_is_never_a_member() -> None:
    for group, kind in applyset.KEPT_KINDS:
        assert not applyset.is_member_kind(group, kind)
    assert applyset.is_member_kind("", "Secret")


def test_sets_of_other_tools_are_left_alone() -> None:
    parent = applyset.parent_object("x", "n", [], [])
    assert applyset.foreign_tool(parent) == ""
    assert applyset.foreign_tool(None) == ""
    parent["metadata"]["annotations"][applyset.TOOLING] = "kubectl/v1.34"
    assert applyset.foreign_tool(parent) == "kubectl/v1.34"
    assert applyset.foreign_tool({"metadata": {"name": "applyset-x"}, "data": {"a": "b"}}) == "something else"
