# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recorded of the volume claims of a site that leaves."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.ownership import volume_facts


def claim(name: str, volume: str | None) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"volumeName": volume} if volume else {}}


def test_the_policy_is_that_of_the_bound_volume() -> None:
    volumes = [{"metadata": {"name": "pv-1"}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}, {"metadata": {"name": "pv-2"}, "spec": {}}]
    found = volume_facts.policies([claim("a", "pv-1"), claim("b", "pv-2"), claim("c", None), claim("d", "gone")], volumes)
    assert found == {"a": "Retain", "b": "unknown", "c": "unknown", "d": "unknown"}


def test_facts_name_the_claim_what_became_of_it_and_the_choice() -> None:
    found = volume_facts.facts("flower", {"b": "Delete", "a": "Retain"}, {"b"}, wanted=True)
    assert [(one["claim"], one["change"], one["storage"]) for one in found] == [("flower/a", "deleted", "Retain"), ("flower/b", "kept", "Delete")]
    assert {one["choice"] for one in found} == {"flower_delete_volumes is set"}
    assert volume_facts.facts("flower", {"a": "Delete"}, {"a"}, wanted=False)[0]["choice"] == "flower_delete_volumes is not set"
