# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences without secrets, and their hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.apply.redacted_diff import (
    Mask,
    content_digest,
    diff_entry,
)

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "f"}, "data": {"b": "1", "a": "2"}}

VALUE = "a-secret-value"
ENCODED = base64.b64encode(VALUE.encode()).decode()


def item(api_version, kind, **content):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, **content}


def workload(value):
    env = [
        {"name": "PASSWORD", "value": value},
        {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    return item("v1", "Pod", spec={"containers": [{"name": "c", "env": env}]})


def work(value):
    return item("work.open-cluster-management.io/v1", "ManifestWork", spec={"workload": {"manifests": [secret(k=value)]}})


def token(code):
    return item("skupper.io/v2alpha1", "AccessToken", spec={"code": code, "url": "u"})


def test_it_can_be_computed_by_others():
    text = json.dumps(CONFIG, sort_keys=True, separators=(",", ":"))
    assert content_digest(CONFIG) == hashlib.sha256(text.encode()).hexdigest()


def test_a_secret_has_none():
    assert content_digest(secret(k="eA==")) == ""


def test_secrets_in_other_objects_leave_no_trace():
    assert content_digest(work("eA==")) == content_digest(work("eQ=="))
    assert content_digest(token("a")) == content_digest(token("b"))


def test_values_of_environment_variables_leave_no_trace():
    assert content_digest(workload("geheim")) == content_digest(workload("anders"))
    other = workload("geheim")
    other["spec"]["containers"][0]["env"][0]["name"] = "PASS"
    assert content_digest(other) != content_digest(workload("geheim"))
    assert workload("geheim")["spec"]["containers"][0]["env"][0]["value"] == "geheim"


def secret(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "data": data}


def test_values_become_markers() -> None:
    given = secret(k=ENCODED)
    shown = Mask().shown(given)
    assert re.fullmatch(r"\(masked [0-9a-f]{8}\)", shown["data"]["k"])
    assert given["data"]["k"] == ENCODED


def test_markers_are_equal_only_for_the_same_place_and_value() -> None:
    mask = Mask()
    one, other = mask.shown(secret(a="eA==", b="eA==")), mask.shown(secret(a="eA==", b="eQ=="))
    assert one["data"]["a"] == other["data"]["a"]
    assert one["data"]["b"] != other["data"]["b"]
    assert one["data"]["a"] != one["data"]["b"]
    assert Mask().shown(secret(a="eA=="))["data"]["a"] != one["data"]["a"]


def test_secrets_inside_other_objects() -> None:
    assert ENCODED not in str(Mask().shown(work(ENCODED)))


def test_last_applied_repeats_the_object() -> None:
    given = secret(k=ENCODED)
    given["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": ENCODED, "other": "kept"}
    shown = Mask().shown(given)
    assert ENCODED not in str(shown)
    assert shown["metadata"]["annotations"]["other"] == "kept"


def test_access_tokens() -> None:
    shown = Mask().shown(token(VALUE))
    assert VALUE not in str(shown) and shown["spec"]["url"] == "u"


def test_messages() -> None:
    mask = Mask()
    mask.learn(
        [secret(k=ENCODED), {"apiVersion": "v1", "kind": "Secret", "stringData": {"pem": "-----BEGIN\nline-one-of-key\nline-two-of-key\n"}}]
    )
    assert mask.text(f"cannot use {VALUE} or {ENCODED}") == "cannot use (masked) or (masked)"
    assert mask.text("got line-two-of-key") == "got (masked)"
    assert mask.text("nothing here") == "nothing here"


def test_values_that_a_message_echoes() -> None:
    text = 'data[k]: Invalid value: "short": must be x, type: Unsupported value: abc: supported values: y'
    assert Mask().text(text, secret=True) == (
        "data[k]: Invalid value: (masked): must be x, type: Unsupported value: (masked): supported values: y"
    )
    assert Mask().text(text) == text


def test_diff_entry() -> None:
    before, after = secret(k=ENCODED, same="eA=="), secret(k="bmV3", same="eA==")
    after["metadata"]["resourceVersion"] = "7"
    shown = diff_entry(id_of(before), before, after, Mask())
    assert shown["before_header"] == "Secret n/s (live)" and shown["after_header"] == "Secret n/s"
    lines = set(shown["before"].splitlines()) ^ set(shown["after"].splitlines())
    assert len(lines) == 2 and all(line.startswith("  k: (masked") for line in lines)
    created = diff_entry(id_of(after), None, after, Mask())
    assert created["before"] == "" and created["before_header"] == "Secret n/s (absent)"


def test_diff_shows_lines_of_texts() -> None:
    given = item("v1", "ConfigMap", data={"f": "one\ntwo\n"})
    assert "  f: |\n    one\n    two\n" in diff_entry(id_of(given), None, given, Mask())["after"]
