# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.compare import content, differs
from ansible_collections.federated.flower.tests.unit.rows import each_row

MANAGER = "federated.flower"


def live_of(desired: dict[str, Any], fields: dict[str, Any], **entry: Any) -> dict[str, Any]:
    """What the API server would show after an apply that owns ``fields``."""
    live = copy.deepcopy(desired)
    managed = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": desired["apiVersion"],
        "fieldsV1": fields,
        **entry,
    }
    live["metadata"].update(uid="u", resourceVersion="5", managedFields=[managed])
    return live


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": data}


CONFIG_FIELDS = {"f:data": {"f:a": {}, "f:b": {}}}


def test_fields_of_others_do_not_matter() -> None:
    desired = config(a="1", b="2")
    live = live_of(desired, CONFIG_FIELDS)
    live["data"]["c"] = "theirs"
    live["metadata"]["labels"] = {"x": "y"}
    assert not differs(desired, live, MANAGER)


@each_row(
    "entry",
    [{"manager": "kubectl"}, {"operation": "Update"}, {"apiVersion": "v2"}, {"subresource": "status"}],
)
def test_another_manager_is_not_us(entry: dict[str, str]) -> None:
    desired = config(a="1", b="2")
    assert differs(desired, live_of(desired, CONFIG_FIELDS, **entry), MANAGER)


def test_an_object_that_is_just_a_name_owns_nothing() -> None:
    desired = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    live = {
        **desired,
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "status": {"phase": "Active"},
    }
    assert not differs(desired, live, MANAGER)


def test_drift_value() -> None:
    desired = config(a="1", b="2")
    live = live_of(desired, CONFIG_FIELDS)
    live["data"]["a"] = "drifted"
    assert differs(desired, live, MANAGER)


def test_drift_takes_ownership_away() -> None:
    desired = config(a="1", b="2")
    assert differs(desired, live_of(desired, {"f:data": {"f:a": {}}}), MANAGER)


def test_removed_field() -> None:
    live = live_of(config(a="1", b="2"), CONFIG_FIELDS)
    assert differs(config(a="1"), live, MANAGER)


SERVICE_FIELDS = {
    "f:spec": {
        "f:selector": {},
        "f:ports": {
            'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}},
            'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
        },
    }
}


def service() -> tuple[dict[str, Any], dict[str, Any]]:
    """A Service, and the live one with defaults filled in."""
    ports = [{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    spec = {"selector": {"app": "a"}, "ports": ports}
    desired = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}, "spec": spec}
    live = live_of(desired, SERVICE_FIELDS)
    live["spec"]["ports"][0].update(protocol="TCP", targetPort=80)
    live["spec"]["ports"][1].update(targetPort=53)
    live["spec"]["clusterIP"] = "10.0.0.1"
    return desired, live


def test_list_items_are_found_by_key_with_defaults() -> None:
    desired, live = service()
    assert not differs(desired, live, MANAGER)


def test_list_item_value() -> None:
    desired, live = service()
    live["spec"]["ports"][0]["name"] = "other"
    assert differs(desired, live, MANAGER)


def test_list_item_added_removed_and_moved() -> None:
    desired, live = service()
    more = copy.deepcopy(desired)
    more["spec"]["ports"].append({"name": "x", "port": 9})
    assert differs(more, live, MANAGER)
    less = copy.deepcopy(desired)
    del less["spec"]["ports"][1]
    assert differs(less, live, MANAGER)
    desired["spec"]["ports"].reverse()
    assert differs(desired, live, MANAGER)


def test_list_item_gone_from_the_live_object() -> None:
    desired, live = service()
    del live["spec"]["ports"][0]
    assert differs(desired, live, MANAGER)


def test_ambiguous_key_is_not_decided() -> None:
    desired, live = service()
    live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:ports"]['k:{"port":80,"protocol":"UDP"}'] = {
        "f:name": {}
    }
    assert differs(desired, live, MANAGER)


def test_atomic_map() -> None:
    desired, live = service()
    live["spec"]["selector"]["more"] = "x"
    assert differs(desired, live, MANAGER)


def test_finalizers_are_a_set() -> None:
    desired = config(a="1")
    desired["metadata"]["finalizers"] = ["example.com/a"]
    fields = {"f:data": {"f:a": {}}, "f:metadata": {"f:finalizers": {".": {}, 'v:"example.com/a"': {}}}}
    live = live_of(desired, fields)
    live["metadata"]["finalizers"].insert(0, "example.com/theirs")
    assert not differs(desired, live, MANAGER)
    del live["metadata"]["finalizers"][1]
    assert differs(desired, live, MANAGER)


def policy(port: dict[str, Any]) -> dict[str, Any]:
    spec = {"podSelector": {}, "ingress": [{"ports": [port]}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": spec,
    }


def test_defaults_inside_an_atomic_list() -> None:
    desired = policy({"port": 80})
    live = live_of(desired, {"f:spec": {"f:ingress": {}, "f:podSelector": {}}})
    live["spec"]["ingress"][0]["ports"][0]["protocol"] = "TCP"
    assert not differs(desired, live, MANAGER)
    live["spec"]["ingress"][0]["ports"][0]["endPort"] = 90  # perhaps wanted before: nothing here can tell
    assert differs(desired, live, MANAGER)


def workload(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}, "spec": pod}


@each_row("value", ["", 0, False, {}, []])
def test_zero_values_that_the_api_server_leaves_out(value: Any) -> None:
    desired = workload({"x": value})
    live = live_of(desired, {"f:spec": {"f:x": {}}})
    del live["spec"]["x"]
    assert not differs(desired, live, MANAGER)


def test_a_missing_value_is_not_a_zero_value() -> None:
    desired = workload({"x": 1})
    live = live_of(desired, {"f:spec": {"f:x": {}}})
    del live["spec"]["x"]
    assert differs(desired, live, MANAGER)


def test_an_empty_associative_list_owns_nothing() -> None:
    desired = workload({"x": 1, "env": []})
    live = live_of(desired, {"f:spec": {"f:x": {}}})
    assert not differs(desired, live, MANAGER)
    live["spec"]["env"] = [{"name": "theirs"}]
    assert differs(desired, live, MANAGER)


@each_row(
    ("wanted", "now"), [("1000m", "1"), (1, "1"), ("1536Mi", "1.5Gi"), ("0.5", "500m"), ("1e3", "1k"), ("-1", "-1.0")]
)
def test_quantities(wanted: Any, now: str) -> None:
    desired = workload({"resources": {"limits": {"cpu": wanted}}})
    live = live_of(desired, {"f:spec": {"f:resources": {"f:limits": {"f:cpu": {}}}}})
    live["spec"]["resources"]["limits"]["cpu"] = now
    assert not differs(desired, live, MANAGER)


def test_quantities_only_where_quantities_are() -> None:
    desired = config(limits="1000m")
    live = live_of(desired, {"f:data": {"f:limits": {}}})
    live["data"]["limits"] = "1"
    assert differs(desired, live, MANAGER)


@each_row(("wanted", "now"), [(1, "1"), ("80", 80), (True, 1), (1, True), (0, False)])
def test_types_count(wanted: Any, now: Any) -> None:
    desired = workload({"x": wanted})
    live = live_of(desired, {"f:spec": {"f:x": {}}})
    live["spec"]["x"] = now
    assert differs(desired, live, MANAGER)


def test_base64_in_another_form() -> None:
    desired = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "n"},
        "data": {"k": "YWJj\nZGVm\n"},
    }
    live = live_of(desired, {"f:data": {"f:k": {}}})
    live["data"]["k"] = "YWJjZGVm"
    assert not differs(desired, live, MANAGER)
    live["data"]["k"] = "YWJjZGVn"
    assert differs(desired, live, MANAGER)


def test_content_is_what_a_user_would_call_it() -> None:
    desired = config(a="1", b="2")
    live = live_of(desired, CONFIG_FIELDS)
    live["status"] = {"x": 1}
    live["metadata"].update(generation=4, creationTimestamp="2026-01-01T00:00:00Z")
    assert content(live) == desired
