# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.compare import as_applied, differs
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import (
    machine,
    outdated_pods,
    restart_conditions,
    site_proof,
)
from ansible_collections.federated.flower.plugins.plugin_utils.state import records

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc)
CA = certificates.make_ca("ca", datetime.timedelta(days=1)).certificate


def record(site, *names, **more):
    keys = [{"pool": "cpu", "name": name, "fingerprint": f"SHA256:{site}{name}", "public_key": "k"} for name in names]
    made = records.merge_keys(records.empty_record(site), keys, None)
    for number, key in enumerate(made["keys"].values()):
        key["node_id"] = f"{site}-{number}"
    return {**made, **more}


FOUND = {
    "a": record("a", "0", "1"),
    "b": record("b", "0", access={"state": "denied", "since": "yesterday"}),
    "c": record("c"),
    "gone": record("gone", "0"),
}
BOOK = {"partitions": 0, "sites": {}}


def test_who_has_to_be_heard():
    rolled = site_proof.members(BOOK, FOUND, ["a", "b", "c", "new"])
    assert {site for site, entry in rolled.items() if not entry["exempt"]} == {"a", "gone"}
    assert "denied access since yesterday" in rolled["b"]["exempt"]
    assert rolled["new"]["exempt"] == rolled["c"]["exempt"] == "it has no SuperNodes yet"
    assert [key["name"] for key in rolled["a"]["expected"]] == ["0", "1"]
    assert not rolled["gone"]["here"]


def test_what_was_heard():
    rolled = site_proof.members(BOOK, FOUND, ["a", "b"])
    sites = site_proof.site_facts(rolled, {"a": {"trust": CA, "accepts": ["1"], "trouble": ""}})
    assert sites["a"] == machine.Site(CA, frozenset({"1"}))
    assert sites["b"].exempt and "not in the inventory" in sites["gone"].trouble
    assert site_proof.site_facts(rolled, {})["a"] == machine.Site()
    silent = {"trust": None, "accepts": []}
    down = site_proof.site_facts(rolled, {"a": {**silent, "trouble": "no route"}, "gone": {**silent, "trouble": "no right"}})
    assert down["a"] == machine.Site(trouble="no route")
    assert down["gone"] == machine.Site(trouble="no right"), "what it failed with is more than that it is not reached"


def test_sites_that_are_offline():
    nodes = {"a-0": {"status": "online"}, "a-1": {"status": "offline"}, "gone-0": {"status": "online"}}
    assert restart_conditions.offline(FOUND, BOOK, nodes) == {"a": "cpu/1 is offline"}
    assert restart_conditions.offline(FOUND, BOOK, {"a-0": {"status": "online"}, "a-1": {"status": "online"}}) == {
        "gone": "cpu/0 is unknown to the SuperLink"
    }


def test_a_key_that_leaves_is_not_waited_for():
    old = FOUND["a"]
    new = records.merge_keys(old, [{"pool": "cpu", "name": "0", "fingerprint": "SHA256:n", "public_key": "k"}], None)
    new["keys"]["SHA256:n"]["node_id"] = "9"
    assert [key["node_id"] for key in restart_conditions.expected_keys(new)] == ["9"]


def test_active_runs():
    runs = [
        {"run-id": n, "status": status, "fab-id": "x/y"}
        for n, status in enumerate(["pending", "running", "finished:failed"])
    ]
    assert restart_conditions.describe_runs(restart_conditions.active_runs(runs)) == "run 0 of x/y (pending), run 1 of x/y (running)"


def test_keys_are_replaced_once():
    old = FOUND["a"]
    assert records.to_renew(old) == ["SHA256:a0", "SHA256:a1"]
    begun = records.merge_keys(old, [{"pool": "cpu", "name": "0", "fingerprint": "SHA256:n", "public_key": "k"}], None)
    assert records.to_renew(begun) == [], "those that were made are not to be replaced again"


def test_one_value_of_an_applied_object_is_changed_and_nothing_else():
    owned = {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}, "f:data": {"f:ca.crt": {}, "f:more": {}}}
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "n", "namespace": "s", "resourceVersion": "7", "uid": "u", "labels": {"x": "1", "foreign": "2"},
            "managedFields": [
                {"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsV1": owned},
                {"manager": "me", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:late": {}}}},
            ],
        },
        "data": {"ca.crt": "old", "more": "m", "late": "l"},
    }  # fmt: skip
    wanted = as_applied(live, "me")
    assert wanted == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "n", "namespace": "s", "resourceVersion": "7", "labels": {"x": "1"}},
        "data": {"ca.crt": "old", "more": "m"},
    }
    del wanted["metadata"]["resourceVersion"]
    assert not differs(wanted, live, "me")
    assert as_applied(live, "someone else") is None
    del owned["f:data"]
    assert "data" not in as_applied(live, "me"), "someone else has taken it over"


def test_what_a_pod_and_its_successor_have_in_common():
    def pod(name, kind, pool="", node=""):
        labels = {"app.kubernetes.io/name": "supernode", **({"federated.flower/pool": pool} if pool else {})}
        meta = {"name": name, "labels": labels, "ownerReferences": [{"kind": kind}]}
        return {"metadata": meta, "spec": {"nodeName": node}}

    seat = outdated_pods._seat
    assert seat(pod("supernode-cpu-0", "StatefulSet", "cpu")) == ("supernode", "cpu", "supernode-cpu-0")
    assert seat(pod("supernode-d-x1", "DaemonSet", "d", "n1")) == seat(pod("supernode-d-y2", "DaemonSet", "d", "n1"))
    assert seat(pod("s-1-a", "ReplicaSet")) == seat(pod("s-1-b", "ReplicaSet"))


def record_of(site: str) -> dict[str, Any]:
    key = {"pool": "cpu", "name": "0", "public_key": "x", "node_id": site, "dead": False}
    return {**records.empty_record(site), "keys": {f"SHA256:{site}": key}}


def test_a_record_that_cannot_be_read_is_the_fault_of_its_site_only() -> None:
    found, unreadable = {name: record_of(name) for name in ("a", "b")}, {"c": "c is broken", "x": "x is broken"}
    nodes = {"a": {"status": "online"}, "b": {"status": "offline"}}
    assert restart_conditions.offline_of(["a"], found, unreadable, {}, nodes) == {}
    assert restart_conditions.offline_of(["a", "c"], found, unreadable, {}, nodes) == {"c": "c is broken"}
    assert restart_conditions.offline_of(["a", "b", "new"], found, unreadable, {}, nodes) == {"b": "cpu/0 is offline"}
