# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One site keeps nothing of the others out of the audit trail, however much its cluster lets this collection note."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Refused, Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import verify
from ansible_collections.federated.flower.tests.unit.audit_hub import MIB, Hub
from ansible_collections.federated.flower.tests.unit.rows import each_row

KEY = {"keys": [{"change": "registered", "fingerprint": "SHA256:a"}]}


def entry(**sites: Any) -> dict[str, Any]:
    run = {"pid": 7, "playbook": "site", "options": {}, "who": {"user": "jane"}}
    noted = [{"at": "t", "site": site, "facts": facts} for site, facts in sites.items()]
    return audit_notes.compose(noted, run, time="t", kubernetes="jane") or {}


def pruned(number: int, length: int) -> dict[str, Any]:
    return {"objects": [{"change": "deleted", "object": f"Pod x/{count:06}".ljust(length, "x")} for count in range(number)]}


HOSTILE = {
    "as many objects as are pruned, with the longest names": pruned(5000, 270),
    "one text of 2 MiB": {"words": ["x" * 2 * MIB]},
    "names of 1 MiB": pruned(3, MIB),
    "characters that are six bytes of JSON": {"words": ["\u202e" * MIB, "\U0001f600" * MIB]},
    "half of a character": {"words": ["\ud83d" * MIB]},
    "many keys": {"keys": [{f"{number}": "x" * 100 for number in range(20_000)}]},
    "lists in a fact": {"volumes": [{"claim": [["x" * 100] * 20_000]}]},
    "many kinds of facts": {f"kind-{number}": ["x" * 5000] for number in range(400)},
    "short facts": {"words": [f"{number}" for number in range(30_000)]},
}


@each_row("facts", HOSTILE.values())
def test_the_trail_has_the_entries_of_all_sites(facts: dict[str, Any]) -> None:
    hub = Hub()
    parts = audit_notes.in_parts(entry(**{"site-a": KEY, "site-hostile": facts, "site-z": KEY}))
    assert max(len(canonical(part)) for part in parts) < audit_notes.LIMIT + 1000
    trail = Trail(hub, "flower", "flower")
    done, warnings = trail.append(parts)
    assert len(done) == len(parts) and not warnings
    verdict = verify(*trail.read())
    assert not verdict.fault and not verdict.notes
    found = [part["sites"] for part in verdict.entries]
    assert [sites[site] for site in ("site-a", "site-z") for sites in found if site in sites] == [KEY, KEY]
    recorded: dict[str, list[Any]] = {}
    for sites in found:
        for kind, listed in sites.get("site-hostile", {}).items():
            recorded.setdefault(kind, []).extend(listed)
    assert {kind: len(listed) for kind, listed in recorded.items()} == {kind: len(listed) for kind, listed in facts.items()}
    assert all(len(canonical(fact)) <= audit_notes.FACT for listed in recorded.values() for fact in listed)


def test_a_long_fact_keeps_its_short_values_and_the_hash_of_the_others() -> None:
    long = "Secret flower/" + "x" * 5000
    (fact,) = entry(a={"objects": [{"change": "deleted", "object": long}]})["sites"]["a"]["objects"]
    assert fact["change"] == "deleted" and fact["object"].startswith(long[:300] + "…")
    assert f"5014 characters, SHA-256 {hashlib.sha256(long.encode()).hexdigest()}" in fact["object"]


def test_failed_hosts_are_divided_as_well() -> None:
    reported = {**entry(a=KEY), "failed": {f"site-{number:04}": "\u202e" * 300 for number in range(1000)}}
    parts = audit_notes.in_parts(reported)
    assert max(len(canonical(part)) for part in parts) < audit_notes.LIMIT + 1000
    assert {host for part in parts for host in part.get("failed", {})} == set(reported["failed"])
    assert parts[-1]["sites"] == {"a": KEY} and all("sites" in part for part in parts)


@each_row("status", [400, 403, 413, 422])
@each_row("place", [0, 1, 2])
def test_a_part_that_the_hub_refuses_loses_no_other_one(status: int, place: int) -> None:
    hub = Hub("hostile", status)
    contents = [{"id": f"{number}", "sites": {f"site-{number}": KEY}} for number in range(2)]
    contents.insert(place, {"id": "x", "sites": {"hostile": KEY}})
    trail = Trail(hub, "flower", "flower")
    with pytest.raises(Refused, match="rejects 1 of 3 entries .refused: ") as failure:
        trail.append(contents)
    assert failure.value.entries == [contents[place]]
    verdict = verify(*trail.read())
    assert not verdict.fault and [one["id"] for one in verdict.entries] == ["0", "1"] == [one["id"] for one in failure.value.done]


def test_nothing_is_written_where_all_of_it_is_refused() -> None:
    hub = Hub("site", 403)
    with pytest.raises(Refused) as failure:
        Trail(hub, "flower", "flower").append([{"id": "1", "sites": {"site-a": KEY}}])
    assert failure.value.done == [] and hub.found == {}
