# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes

RUN = {
    "pid": 7,
    "playbook": "federated.flower.site",
    "options": {"limit": "site-a"},
    "who": {"user": "jane", "host": "ctl"},
}
TIME = "2026-11-21T12:00:00+00:00"
HASH = "0123456789abcdef" * 4


def note(site, *, at="2026-11-21T11:59:00+00:00", **words):
    return {"at": at, "site": site, **words}


def objects(*changes):
    return {"objects": [{"change": change, "object": name} for change, name in changes]}


def compose(*notes):
    return audit_notes.compose(notes, RUN, time=TIME, kubernetes="system:admin")


def test_notes_of_one_run_are_one_entry():
    entry = compose(
        note("hub", facts=objects(("created", "StatefulSet f/superlink"))),
        note("site-a", facts={"keys": [{"fingerprint": "SHA256:a"}]}),
        note("hub", facts=objects(("created", "Service f/superlink"))),
        note("hub", facts={"certificates": [{"serial": "1f"}]}),
    )
    assert entry["playbook"] == "federated.flower.site" and entry["options"] == {"limit": "site-a"}
    assert entry["who"] == {"user": "jane", "host": "ctl", "kubernetes": "system:admin"}
    assert [one["object"] for one in entry["sites"]["hub"]["objects"]] == [
        "StatefulSet f/superlink",
        "Service f/superlink",
    ]
    assert entry["sites"]["hub"]["certificates"] == [{"serial": "1f"}]
    assert entry["sites"]["site-a"] == {"keys": [{"fingerprint": "SHA256:a"}]}
    assert "failed" not in entry


def test_a_fact_that_was_noted_twice_is_told_once():
    facts = {"words": ["forgotten"], **objects(("changed", "ConfigMap f/x"))}
    assert compose(note("a", facts=facts), note("a", facts=facts))["sites"] == {"a": facts}


def test_hosts_that_failed():
    entry = compose(note("site-b", facts={"words": ["x"]}), note("site-a", failed="site-a: " + "x" * 5000))
    assert list(entry["failed"]) == ["site-a"] and len(entry["failed"]["site-a"]) == audit_notes.MESSAGE


def test_the_same_notes_have_the_same_id():
    notes = [note("a", facts={"words": ["x"]})]
    assert compose(*notes)["id"] == compose(*notes)["id"] != compose(note("a", at="now", facts={"words": ["x"]}))["id"]


def test_only_objects_that_changed():
    given = [
        {"kind": "ConfigMap", "namespace": "f", "name": "x", "change": "created", "sha256": HASH, "apiVersion": "v1"},
        {"kind": "Secret", "namespace": "f", "name": "s", "change": "changed"},
        {"kind": "Namespace", "namespace": "", "name": "f", "change": "deleted"},
        {"kind": "Service", "namespace": "f", "name": "y", "change": "unchanged"},
        {"kind": "Service", "namespace": "f", "name": "z", "change": "failed"},
        {"name": "something else"},
    ]
    assert audit_notes.of_objects(given) == [
        {"change": "created", "object": "ConfigMap f/x", "sha256": HASH},
        {"change": "changed", "object": "Secret f/s"},
        {"change": "deleted", "object": "Namespace f"},
    ]


def fleet(sites):
    """A first deployment: ten objects and a key a site."""
    names = [
        f"{kind} flower/supernode-{number}"
        for number, kind in enumerate(["ConfigMap", "StatefulSet", "Service"] * 3 + ["Secret"])
    ]
    return [
        note(
            f"site-{number:04}",
            facts={
                "objects": [{"change": "created", "object": name, "sha256": HASH} for name in names],
                "keys": [
                    {
                        "change": "registered",
                        "fingerprint": "SHA256:" + HASH[:43],
                        "name": "0",
                        "node_id": "1" * 20,
                        "pool": "gpu",
                    }
                ],
            },
        )
        for number in range(sites)
    ]


def test_a_large_fleet_is_split_into_parts():
    entry = compose(*fleet(1000), note("site-0000", failed="down"))
    parts = audit_notes.in_parts(entry)
    assert 5 < len(parts) < 20
    assert max(len(canonical(part)) for part in parts) < audit_notes.LIMIT + 1000
    assert [part["part"] for part in parts] == list(range(1, len(parts) + 1)) and {part["parts"] for part in parts} == {
        len(parts)
    }
    merged = {}
    for part in parts:
        assert part["id"] == entry["id"] and part["who"] == entry["who"]
        for site, facts in part["sites"].items():
            for kind, found in facts.items():
                merged.setdefault(site, {}).setdefault(kind, []).extend(found)
    assert merged == entry["sites"]
    assert ["failed" in part for part in parts] == [True] + [False] * (len(parts) - 1)


def test_parts_are_filled_and_no_fact_is_divided():
    facts = {"words": ["x" * 500, "y"], "keys": ["z" * 500]}
    entry = compose(note("a", facts=facts), note("b", facts={"words": ["y"]}))
    parts = audit_notes.in_parts(entry, limit=1000)
    assert [part["sites"] for part in parts] == [{"a": {"words": ["x" * 500, "y"]}}, {"a": {"keys": ["z" * 500]}, "b": {"words": ["y"]}}]
    assert json.loads(canonical(entry)) == entry and entry["sites"]["a"] == facts
