# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.base.defaults import completed, is_default


def test_defaults_are_filled_in_where_there_is_none() -> None:
    policy = {"kind": "NetworkPolicy", "spec": {"ingress": [{"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}]}}
    (rule,) = completed(policy)["spec"]["ingress"]
    assert rule["ports"] == [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "UDP"}]
    assert "protocol" not in policy["spec"]["ingress"][0]["ports"][0]
    claims = completed({"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [{"spec": {}}], "ports": [{}]}})["spec"]
    assert claims["volumeClaimTemplates"] == [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}
    ]
    assert claims["ports"] == [{}]
    assert completed({"kind": "Pod", "spec": {"fieldRef": {"fieldPath": "a"}}})["spec"]["fieldRef"]["apiVersion"] == "v1"


def test_what_may_be_added_is_known_as_well() -> None:
    subjects = ("subjects", "apiGroup")
    assert is_default("RoleBinding", subjects, "") and is_default("RoleBinding", subjects, "rbac.authorization.k8s.io")
    assert not is_default("Role", subjects, "") and "apiGroup" not in completed({"kind": "RoleBinding", "subjects": [{}]})["subjects"][0]
