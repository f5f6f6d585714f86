# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.field_conflicts import (
    TAKE_FROM,
    changed_fields,
    conflict_error,
    conflicting_fields,
    reconcilers,
    recreated_by,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import FIELD_MANAGER


def written(*entries: tuple[str, str, str], **annotations: str) -> dict[str, Any]:
    managed = [{"manager": name, "operation": how, **({"subresource": part} if part else {})} for name, how, part in entries]
    return {"metadata": {"annotations": annotations, "managedFields": managed}}


def test_who_comes_back() -> None:
    live = written(
        (FIELD_MANAGER, "Apply", ""),
        ("kubectl-edit", "Update", ""),
        ("kube-controller-manager", "Update", "status"),
        ("status-writer", "Apply", "status"),
        ("kustomize-controller", "Apply", ""),
        ("pod-security-admission-label-synchronization-controller", "Apply", ""),
        ("argocd-controller", "Update", ""),
        ("argocd-controller", "Apply", ""),
    )
    assert reconcilers(live) == ["kustomize-controller", "argocd-controller"]
    assert reconcilers({"metadata": {}}) == []


def test_whose_fields_were_released() -> None:
    entries = [(name, "Apply", "") for name in ("flux", "argo", "other")]
    assert reconcilers(written(*entries, **{TAKE_FROM: "flux, argo"})) == ["other"]


def test_fields_are_those_of_the_answer() -> None:
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "argo" using apps/v1', "field": ".spec.replicas"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "argo" using apps/v1', "field": ".spec.paused"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl-edit" using apps/v1', "field": ".spec.template"},
        {"reason": "Other", "message": 'conflict with "argo"', "field": ".x"},
    ]
    error = Conflict("hub", "PATCH /x", 409, {"details": {"causes": causes}})
    assert conflicting_fields(error, ["argo", "flux"]) == {"argo": [".spec.replicas", ".spec.paused"]}
    assert conflicting_fields(Conflict("hub", "PATCH /x", 409, {}), ["argo"]) == {}


def test_the_way_out_is_named() -> None:
    text = conflict_error({"argo": [f".spec.f{number}" for number in range(7)], "flux": [".data.a"]})
    assert "field manager argo owns .spec.f0, .spec.f1, .spec.f2, .spec.f3, .spec.f4 and 2 more; field manager flux owns .data.a" in text
    assert f"{TAKE_FROM}=argo,flux" in text


def test_names_of_an_api_server_are_short() -> None:
    managers = reconcilers(written(("m\x1b[2J" + "m" * 10**6, "Apply", "")))
    text = conflict_error({name: ["." + "f" * 10**6] for name in managers})
    assert managers and len(text) < 2000 and "\x1b" not in text


def test_what_only_lacks_a_default_does_not_differ() -> None:
    def pod(image: str, **ref: str) -> dict[str, Any]:
        env = [{"name": "A.B", "valueFrom": {"fieldRef": {"fieldPath": "x", **ref}}}, {"name": "C", "value": "1"}]
        ports = [{"containerPort": 80, "protocol": "TCP", "name": "a"}, {"containerPort": 80, "protocol": "UDP", "name": "b"}]
        return {"spec": {"containers": [{"name": "c", "image": image, "env": env, "ports": ports}], "args": ["a"]}}

    place = '.spec.containers[name="c"]'
    paths = [f'{place}.env[name="A.B"].valueFrom.fieldRef', f"{place}.image", f'{place}.ports[containerPort=80,protocol="UDP"].name', ".spec.args"]
    live = pod("one", apiVersion="v1")
    assert changed_fields({"flux": paths}, live, pod("two", apiVersion="v1")) == {"flux": [f"{place}.image"]}
    assert changed_fields({"flux": paths}, live, pod("one")) == {"flux": [paths[0]]}
    assert changed_fields({"flux": paths}, live, live) == {}
    # What is not found is not judged to be the same.
    unknown = [".spec.nothing", '.spec.containers[name="d"].image', ".spec.args[0]", "strange", ".spec.containers.x"]
    assert changed_fields({"flux": unknown}, live, live) == {"flux": unknown}


def test_what_would_come_back() -> None:
    flux = written(("kustomize-controller", "Apply", ""))
    text = recreated_by({"kind": "Service", **flux})
    assert "kustomize-controller would create it again" in text and f"{TAKE_FROM}=kustomize-controller" in text
    assert recreated_by({"kind": "Secret", **flux}) == "" == recreated_by({"kind": "Service", **written((FIELD_MANAGER, "Apply", ""))})


def test_what_others_only_add_to_does_not_come_back() -> None:
    """As OpenShift's controller of pull secrets does with every ServiceAccount: no federation there could be removed."""
    live = written((FIELD_MANAGER, "Apply", ""), ("openshift.io/image-registry-pull-secrets_service-account-controller", "Apply", ""))
    own, added = live["metadata"]["managedFields"]
    own["fieldsV1"] = {"f:metadata": {"f:labels": {"f:app.kubernetes.io/managed-by": {}}}}
    added["fieldsV1"] = {
        "f:imagePullSecrets": {},
        "f:metadata": {"f:annotations": {"f:openshift.io/internal-registry-pull-secret-ref": {}}},
        "f:secrets": {'k:{"name":"supernode-dockercfg-x"}': {}},
    }
    assert recreated_by({"kind": "ServiceAccount", **live}) == ""
    added["fieldsV1"]["f:metadata"] |= own["fieldsV1"]["f:metadata"]
    assert "would create it again" in recreated_by({"kind": "ServiceAccount", **live})


def test_a_long_path_is_read_once() -> None:
    """It is what an API server of a site answers."""
    begun, live = time.process_time(), {"list": [{"name": "a"}]}
    assert changed_fields({"other": [f".list[{'a' * 40_000}]"]}, live, live)
    assert time.process_time() - begun < 5
