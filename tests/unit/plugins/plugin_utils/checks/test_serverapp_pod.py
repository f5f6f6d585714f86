# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs are switched, or tracking or another field of the ServerApps' pod changes: what is replaced, and whether runs stand in the way."""

from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks.serverapp_pod import (
    check,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import FIELD_MANAGER
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.tests.unit.rows import each_row


def deployed(spec):
    """(kind, name) -> workload of a hub."""
    listed = superlink.objects(spec.complete())
    return {(one["kind"], one["metadata"]["name"]): one for one in listed if one["apiVersion"] == "apps/v1"}


CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
SECRET = {"uri": "https://x", "secret": "mlflow", "token_key": "token"}
TOKEN = {"tracking": {"uri": "https://x"}, "tracking_credentials": ["token"]}


@each_row("outputs_enabled", [True, False])
@each_row("isolation", ["process", "subprocess"])
@each_row(
    ("before", "after", "changed"),
    [
        ({}, {}, False),
        ({"tracking": SECRET}, {"tracking": SECRET}, False),
        ({}, {"tracking": SECRET}, True),
        ({"tracking": SECRET}, {}, True),
        ({"tracking": SECRET}, {"tracking": {**SECRET, "uri": "https://y"}}, True),
        ({"tracking": SECRET}, {"tracking": {**SECRET, "token_key": "other"}}, True),
        ({"tracking": SECRET}, {"tracking": {**SECRET, "ca": CA}}, True),
        ({"tracking": SECRET}, TOKEN, True),
        ({"tracking": {**SECRET, "ca": CA}}, {"tracking": {**SECRET, "ca": CA * 2}}, False),
        ({"tracking": SECRET}, {"tracking": {**SECRET, "egress": [{"cidr": "192.0.2.1"}]}}, False),
    ],
)
def test_tracking_that_replaces_the_pod_is_seen(parsed_hub, outputs_enabled, isolation, before, after, changed):
    common = {"outputs_enabled": outputs_enabled, "isolation": isolation}
    live = deployed(parsed_hub(**common, **before))
    hub = Hub(live)
    assert (bool(hub.refusal(parsed_hub(**common, **after)))) == changed


def applied(workload):
    """A workload as the API server has it after an apply, with a field that it has added."""
    live = copy.deepcopy(workload)
    live["metadata"] |= {"resourceVersion": "1", "managedFields": [
        {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": fields(workload["spec"])}}
    ]}  # fmt: skip
    live["spec"]["template"]["spec"].setdefault("dnsPolicy", "ClusterFirst")
    return live


KEYS = {"volumeMounts": ("mountPath",), "ports": ("containerPort", "protocol")}


def fields(value, name=""):
    """What managedFields have for a value."""
    if isinstance(value, dict):
        return {f"f:{key}": fields(inner, key) for key, inner in value.items()}
    keys = KEYS.get(name, ("name",))
    if not isinstance(value, list) or not all(isinstance(one, dict) and keys[0] in one for one in value):
        return {}
    return {
        "k:" + json.dumps({key: one.get(key, "TCP") for key in keys}, separators=(",", ":")): {".": {}, **fields(one)} for one in value
    }


class Hub:
    """A hub's workloads."""

    name = "hub"

    def __init__(self, live):
        self.live = {key: applied(one) for key, one in live.items()}

    def get(self, _version, kind, name, _namespace):
        """One of them."""
        return self.live.get((kind, name))

    def apply(self, item, *, dry_run):
        """What the API server would have: it adds what is not set."""
        assert dry_run
        tried = copy.deepcopy(item)
        tried["spec"]["template"]["spec"].setdefault("dnsPolicy", "ClusterFirst")
        return tried

    def refusal(self, spec):
        """The message."""
        try:
            assert require(check(self, spec)) == []
        except ClusterError as error:
            return error.message
        return ""


@pytest.fixture(autouse=True)
def one_run(monkeypatch):
    monkeypatch.setattr(runs, "read_all", lambda cli: [{"run-id": 8, "status": "running", "fab-id": "me/demo"}])


@each_row("isolation", ["process", "subprocess"])
@each_row(("before", "after"), [(True, False), (False, True), (True, True), (False, False)])
def test_a_switch_of_outputs_is_refused_in_both_directions(parsed_hub, isolation, before, after):
    live, wanted = deployed(parsed_hub(isolation=isolation, outputs_enabled=before)), parsed_hub(isolation=isolation, outputs_enabled=after)
    for there in (live, {**deployed(wanted), **live}):  # a hub that stopped half-way has both workloads: the old one may still have a run
        words = Hub(there).refusal(wanted)
        assert bool(words) == (before != after)
        assert not words or f"are switched {'on' if after else 'off'}" in words and f"superlink_outputs_enabled: {str(before).lower()}" in words


@each_row("meta", [{"deletionTimestamp": "2026-11-22T00:00:00Z"}, {"labels": {}}])
def test_a_workload_that_goes_or_is_of_someone_else_is_no_switch(parsed_hub, meta):
    hub = Hub(deployed(parsed_hub(outputs_enabled=False)))
    for item in hub.live.values():
        item["metadata"] |= meta
    assert hub.refusal(parsed_hub()) == ""


@each_row("outputs_enabled", [True, False])
@each_row(
    ("after", "parts"),
    [
        ({}, ""),
        ({"serverapp_image": "registry.example.com/app:2"}, "image"),
        ({"serverapp_env": [{"name": "A", "value": "1"}]}, "env"),
        ({"serverapp_node_selector": {"disk": "ssd"}, "serverapp_image": "app:2"}, "image, nodeSelector"),
        ({"gateway_image": "registry.example.com/haproxy:3"}, ""),
        ({"image": "registry.example.com/superlink:2"}, {True: "image", False: ""}),
    ],
)
def test_what_replaces_the_pod_is_refused_while_a_run_is_active(parsed_hub, outputs_enabled, after, parts):
    if isinstance(parts, dict):
        parts = parts[outputs_enabled]  # the SuperLink's image reads outputs in that pod
    live = deployed(parsed_hub(outputs_enabled=outputs_enabled))
    words = Hub(live).refusal(parsed_hub(outputs_enabled=outputs_enabled, **after))
    assert bool(words) == bool(parts)
    if parts:
        assert f"the pod of ServerApps is replaced by one with another {parts} (" in words
        assert "would fail run 8 of me/demo (running). Nothing was changed." in words and "flower_serverapp_force=true" in words


@each_row(
    ("after", "part"),
    [
        ({}, ""),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "resources"),
        ({"gateway_image": "registry.example.com/haproxy:3"}, "image"),
        ({"log_level": "DEBUG"}, "env"),
        ({"storage_size": "50Gi"}, ""),
        ({"gateway_secret": ""}, ""),
    ],
)
def test_with_subprocess_isolation_it_is_the_pod_of_the_superlink(parsed_hub, after, part):
    before = {"isolation": "subprocess", "gateway_secret": "superlink-gateway-issued"}
    words = Hub(deployed(parsed_hub(**before))).refusal(parsed_hub(**{**before, **after}))
    assert bool(words) == bool(part)
    if part:
        assert f"the pod of ServerApps (the SuperLink's) is replaced by one with another {part} (variables of the hub: superlink_*," in words


@each_row("before", ["process", "subprocess"])
def test_another_isolation_fails_the_runs_of_the_pod_that_goes(parsed_hub, before):
    after = "subprocess" if before == "process" else "process"
    words = Hub(deployed(parsed_hub(isolation=before))).refusal(parsed_hub(isolation=after))
    assert words.startswith(f"hub: superlink_isolation: ServerApps run with {before},") and "would fail run 8 of me/demo (running)" in words
    assert f"leave superlink_isolation: {before} for now" in words
    assert Hub({}).refusal(parsed_hub(isolation=after)) == "", "of a new hub"


def test_a_field_that_the_api_server_writes_in_another_way_is_no_change(parsed_hub, monkeypatch):
    live = deployed(parsed_hub())
    hub = Hub(live)
    wanted = parsed_hub(serverapp_image="app:2")
    same = hub.live["StatefulSet", "serverapp"]
    monkeypatch.setattr(hub, "apply", lambda item, *, dry_run: same)
    assert hub.refusal(wanted) == "", "the API server decides"


def test_in_check_mode_it_is_said(parsed_hub):
    hub = Hub(deployed(parsed_hub()))
    (warning,) = require(check(hub, parsed_hub(serverapp_image="app:2"), is_check=True))
    assert warning.startswith("refused while runs are active: the pod of ServerApps is replaced")


def test_without_active_runs_nothing_is_refused(parsed_hub, monkeypatch):
    monkeypatch.setattr(runs, "read_all", lambda cli: [])
    assert Hub(deployed(parsed_hub())).refusal(parsed_hub(serverapp_image="app:2")) == ""
