# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.redacted_diff import Mask
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import describe_error
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotServed,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row


def error(cls: type[ApiError], status: int, message: str, **details: Any) -> ApiError:
    return cls("hub", "PATCH /x", status, {"message": message, "reason": "Reason", "details": details})


def forbidden(message: str) -> ApiError:
    return error(Forbidden, 403, message)


@each_row(
    ("given", "category", "text"),
    [
        (
            forbidden('statefulsets.apps "x" is forbidden: User "jane" cannot patch resource "statefulsets" in API group "apps" in the namespace "flower"'),
            "forbidden",
            "forbidden: user jane cannot patch statefulsets in namespace flower (verb patch, resource statefulsets, API group apps)",
        ),
        (
            forbidden('namespaces is forbidden: User "jane" cannot get resource "namespaces" in API group "" at the cluster scope'),
            "forbidden",
            "forbidden: user jane cannot get namespaces (verb get, resource namespaces)",
        ),
        (
            forbidden('pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'),
            "quota",
            "quota exceeded: q, requested: pods=1, used: pods=0, limited: pods=0. Request a higher quota, or reduce the object's resources",
        ),
        (
            error(ApiError, 400, 'admission webhook "w.example.com" denied the request: no latest tags'),
            "webhook",
            "denied by the admission webhook 'w.example.com': no latest tags",
        ),
        (
            error(ApiError, 500, 'Internal error occurred: failed calling webhook "w": no endpoints'),
            "webhook",
            "the admission webhook 'w' did not answer (no endpoints); the cluster's administrator must repair or remove it",
        ),
        (
            error(Invalid, 422, "x \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too big"),
            "policy",
            "denied by the ValidatingAdmissionPolicy 'p': too big",
        ),
        (
            error(
                ApiError, 500, "failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .dataa: field not declared in schema",
            ),
            "schema",
            "not valid for its schema: .dataa: field not declared in schema",
        ),
        (
            error(NotFound, 404, 'namespaces "n" not found', name="n", kind="namespaces"),
            "not found",
            "the namespace n does not exist: create it first, or add it to the list",
        ),
        (error(NotServed, 404, "the API server does not serve X"), "not served", "the API server does not serve X"),
        (
            error(Conflict, 409, "the object has been modified"),
            "conflict",
            "conflict: the object has been modified. Run again",
        ),
        (error(ApiError, 413, "Request entity too large: limit is 3145728"), "too large", None),
        (error(ApiError, 418, "teapot"), "refused", "Reason: teapot"),
        (
            forbidden('configmaps "a" is forbidden: unable to create new content in namespace n because it is being terminated'),
            "terminating",
            None,
        ),
    ],
)
def test_describe(given: ApiError, category: str, text: str | None) -> None:
    assert describe_error(given)[0] == category
    if text is not None:
        assert describe_error(given)[1] == text


def test_invalid_names_the_fields() -> None:
    causes = [
        {"field": "spec.ports[0].port", "message": "Invalid value: 99999: must be between 1 and 65535"},
        {"field": "spec.x", "message": "Required value"},
    ]
    category, text = describe_error(error(Invalid, 422, 'Service "a" is invalid: …', causes=causes))
    assert category == "invalid"
    assert (
        text == "invalid: spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535; spec.x: Required value"
    )


def test_immutable_names_the_field_and_the_way_out() -> None:
    cause = {"field": "spec.template", "message": "Invalid value: {…}: field is immutable"}
    category, text = describe_error(error(Invalid, 422, 'Job "a" is invalid', causes=[cause]))
    assert category == "immutable"
    assert text.startswith("spec.template cannot be changed on a live object") and "delete the object" in text


def test_an_echoed_object_hides_neither_the_reason_nor_a_secret_from_the_mask() -> None:
    cause = {"field": "spec.template", "message": f"Invalid value: core.PodTemplateSpec{{{'x, ' * 1500}}}: field is immutable"}
    category, text = describe_error(error(Invalid, 422, 'Job "a" is invalid', causes=[cause]))
    assert category == "immutable" and "(spec.template: field is immutable)" in text
    causes = [{"field": f"data[{number}]", "message": f'Invalid value: "{"s3cr3t " * 100}": not allowed'} for number in range(4)]
    text = describe_error(error(Invalid, 422, 'Secret "a" is invalid', causes=causes))[1]
    assert text.count("data[") == 2 and "s3cr3t" not in Mask().text(text, secret=True)


def test_an_answer_of_any_length_becomes_a_short_one() -> None:
    cause = {"field": "spec.x" * 10_000, "message": "Invalid value: {" * 10_000 + "field is immutable"}
    for given in (cause, {**cause, "message": "field is immutable"}, {**cause, "field": ""}):
        assert len(describe_error(error(Invalid, 422, 'Job "a" is invalid', causes=[given] * 2))[1]) < 5000
