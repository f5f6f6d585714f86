# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import json

from ansible_collections.federated.flower.plugins.plugin_utils.apply.content import content_digest

CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "namespace": "f"},
    "data": {"b": "1", "a": "2"},
}


def workload(value):
    env = [
        {"name": "PASSWORD", "value": value},
        {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "env": env}]},
    }


def test_it_can_be_computed_by_others():
    text = json.dumps(CONFIG, sort_keys=True, separators=(",", ":"))
    assert content_digest(CONFIG) == hashlib.sha256(text.encode()).hexdigest()


def test_every_other_difference_counts():
    assert content_digest({**CONFIG, "data": {"a": "2"}}) != content_digest(CONFIG)


def test_a_secret_has_none():
    assert (
        content_digest({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "eA=="}}) == ""
    )


def test_secrets_in_other_objects_leave_no_trace():
    def work(value):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": value}}
        return {
            "apiVersion": "work/v1",
            "kind": "ManifestWork",
            "metadata": {"name": "w"},
            "spec": {"manifests": [secret]},
        }

    assert content_digest(work("eA==")) == content_digest(work("eQ=="))

    def token(code):
        return {
            "apiVersion": "skupper.io/v2alpha1",
            "kind": "AccessToken",
            "metadata": {"name": "t"},
            "spec": {"code": code, "url": "u"},
        }

    assert content_digest(token("a")) == content_digest(token("b"))


def test_values_of_environment_variables_leave_no_trace():
    assert content_digest(workload("geheim")) == content_digest(workload("anders"))
    other = workload("geheim")
    other["spec"]["containers"][0]["env"][0]["name"] = "PASS"
    assert content_digest(other) != content_digest(workload("geheim"))
    assert workload("geheim")["spec"]["containers"][0]["env"][0]["value"] == "geheim"
