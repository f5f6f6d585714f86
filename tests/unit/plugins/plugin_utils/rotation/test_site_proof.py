# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import site_proof
from ansible_collections.federated.flower.tests.unit.rows import each_row


def pod(spec, *, name="supernode-cpu-3", owner="StatefulSet", state="running"):
    """A live pod of a rendered workload."""
    workload = supernode.workload(spec, spec.pools[0])
    template = workload["spec"]["template"]
    labels = {**template["metadata"]["labels"], "apps.kubernetes.io/pod-index": name.rpartition("-")[2]}
    return {
        "metadata": {"name": name, "namespace": "flower", "labels": labels, "ownerReferences": [{"kind": owner}]},
        "spec": {**template["spec"], "nodeName": "node-1"},
        "status": {"containerStatuses": [{"name": "supernode", "state": {state: {}}}]},
    }


def test_a_sidecar_is_asked(parsed_site):
    found = pod(parsed_site(client_certificate="-"))
    asked = site_proof.probe_request(found, "hub.example", {"now": "a1", "next": "b2"}, 30)
    assert site_proof.has_sidecar(found)
    assert asked == {
        "probes": {
            "now": {"port": 8404, "path": "/probe/now", "serial": "a1"},
            "next": {"port": 8404, "path": "/probe/next", "serial": "b2"},
        },
        "files": {},
        "seconds": 30,
    }


def test_without_a_sidecar_the_handshake_is_the_supernodes_own(parsed_site):
    found = pod(parsed_site(sidecar=False, mtls=False, superlink_address="203.0.113.5:9092"))
    asked = site_proof.probe_request(found, "superlink.demo.flower.internal", {"now": "", "next": "b2"}, 30)
    assert not site_proof.has_sidecar(found)
    assert asked["files"] == {"trust": "/trust/ca.crt"}
    assert asked["probes"]["now"] == {
        "host": "203.0.113.5", "port": 9092, "name": "203.0.113.5", "trust": "/trust/ca.crt", "serial": "",
    }  # fmt: skip
    assert asked["probes"]["next"]["name"] == "next.superlink.demo.flower.internal"


def test_places_of_pods(parsed_site):
    spec = parsed_site(client_certificate="-")
    assert site_proof.key_of_pod(pod(spec)) == ("default", "3")
    assert site_proof.key_of_pod(pod(spec, name="supernode-cpu-x7", owner="DaemonSet")) == ("default", "node-1")
    assert site_proof.is_running(pod(spec)) and not site_proof.is_running(pod(spec, state="waiting"))


@each_row(
    ("held", "stale"),
    [
        ({}, False),
        ({"trust": {"sha256": site_proof.file_digest("CA"), "loaded": True}}, False),
        ({"trust": {"sha256": site_proof.file_digest("CA"), "loaded": False}}, True),
        ({"trust": {"sha256": site_proof.file_digest("older"), "loaded": True}}, True),
        ({"trust": {"error": "no such file"}}, True),
        ({"trust": ["loaded"]}, True),
        (["trust"], True),
    ],
)
def test_a_process_that_is_older_than_its_trust(held, stale):
    assert site_proof.is_stale({"held": held}, "CA") is stale


@each_row(
    "seen, kept",
    [
        ({"now": {"serial": "a1"}, "other": {"serial": "b2"}}, {"serial": "a1"}),
        ({"now": {"error": "a\x1b[2J\nb", "more": "x"}}, {"error": "a?[2J b"}),
        ({"now": {"serial": "1" * 1000}}, {"serial": "1" * 499 + "…"}),
        ({"now": {"serial": {"a": 1}}}, {}),
        ({"now": "a1"}, {}),
        ([], {}),
        (None, {}),
    ],
)
def test_what_a_container_answers_is_short_text(seen, kept):
    found = site_proof.seen_by({"seen": seen}, ["now"])
    assert found == {"now": kept or {"error": "it gave an invalid answer. Find out who changed the container"}}
    answered = {"pod": "p", "pool": "cpu", "name": "0", "stale": False, "error": "", "seen": found}
    assert len(site_proof.handshake_table([report("a", "", answered)])) == 2


KEYS = [{"pool": "cpu", "name": "0"}, {"pool": "cpu", "name": "1"}]


def said(name, stale=False, error="", **seen):
    return {"pod": f"supernode-cpu-{name}", "pool": "cpu", "name": name, "stale": stale, "error": error, "seen": seen}


def test_only_what_all_accept_is_accepted():
    wanted = {"now": "a1", "next": "b2"}
    both = {"now": {"serial": "a1"}, "next": {"serial": "b2"}}
    assert site_proof.judge(KEYS, [said("0", **both), said("1", **both)], wanted) == (["a1", "b2"], "")
    one = {"now": {"serial": "a1"}, "next": {"error": "the sidecar got no answer from the hub (503)"}}
    accepts, trouble = site_proof.judge(KEYS, [said("0", **both), said("1", **one)], wanted)
    assert accepts == ["a1"]
    assert trouble == "supernode-cpu-1, certificate b2 (next): the sidecar got no answer from the hub (503)"


@each_row(
    ("pods", "words"),
    [
        ([said("0", now={"serial": "a1"})], "cpu/1 has no running pod"),
        (
            [said("0", now={"serial": "a1"}), said("1", stale=True)],
            "supernode-cpu-1 still runs with the CA bundle of its start",
        ),
        ([said("0", now={"serial": "a1"}), said("1", error="exec: gone")], "supernode-cpu-1: exec: gone"),
        ([said("0", now={"serial": "a1"}), said("1", now={"serial": "77"})], "it received 77"),
    ],
)
def test_one_that_is_missing_spoils_it_for_all(pods, words):
    accepts, trouble = site_proof.judge(KEYS, pods, {"now": "a1"})
    assert accepts == [] and words in trouble


def test_without_a_demand_nothing_is_wrong():
    assert site_proof.judge(KEYS, [said("0", now={"serial": "1"}), said("1", now={"serial": "2"})], {"now": ""}) == (
        [],
        "",
    )


def report(site, trouble="", *pods):
    return {"site": site, "trouble": trouble, "pods": list(pods)}


def test_the_table():
    before = [report("a", "", said("0", now={"serial": "aa11"})), report("b", "", said("0", now={"serial": "aa11"}))]
    rounds = [
        report("a", "", said("0", now={"serial": "aa11"}, next={"serial": "bb22"})),
        report("b", "no route to host"),
        report("a", "", said("0", now={"serial": "cc33"})),
    ]
    lines = site_proof.handshake_table(before, rounds)
    assert lines[0].split() == ["SITE", "POD", "SERVED", "BEFORE", "SERVED", "AFTER", "OLD", "NEW"]
    assert lines[1].split() == ["a", "supernode-cpu-0", "aa11", "cc33", "yes", "yes"]
    assert lines[2].split() == ["b", "supernode-cpu-0", "aa11", "aa11", "yes", "yes"]
    assert lines[3] == "! b: no route to host"
    assert site_proof.handshake_table([], []) == []


@each_row(
    ("before", "after", "cells"),
    [
        ({}, {}, ["-", "-", "not tested", "not tested"]),  # the rotation was interrupted before it was asked
        ({"now": {"serial": "a1"}}, {}, ["a1", "-", "yes", "not tested"]),
        ({}, {"now": {"serial": "b2"}}, ["-", "b2", "not tested", "yes"]),
        ({"now": {"error": "refused"}}, {"now": {"serial": "b2"}}, ["-", "b2", "no", "yes"]),
        ({"now": {"serial": "a1"}}, {"now": {"error": "refused"}}, ["a1", "-", "yes", "no"]),
        ({"now": {"serial": "a1"}}, {"next": {"serial": "b2"}}, ["a1", "-", "yes", "not tested"]),
    ],
)
def test_a_supernode_that_was_not_asked_is_not_said_to_refuse(before, after, cells):
    def report(seen):
        return {"site": "site-a", "trouble": "", "pods": [{"pod": "supernode-cpu-0", "seen": seen}]}

    line = site_proof.handshake_table([report(before)], [report(after)])[1]
    assert line.split()[2:] == " ".join(cells).split()
