# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a schedule: the golden file, and the rules behind it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import schedule
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.rights import grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import SCHEDULE, missing, singles
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec

SETTINGS = {
    "cron": "0 2 * * sun", "timezone": "Europe/Berlin", "suspend": False, "overlap": "skip", "min_supernodes": 2, "timeout": 3600, "app": "acme/train",
    "version": "1.0.0", "run_config": '"rounds" = 5\n', "connection": "hub", "container": "superlink",
}  # fmt: skip


def objects(given: Any, **changes: Any) -> list[dict[str, Any]]:
    return schedule.objects(HubSpec.parse(given), "weekly", {**SETTINGS, **changes}, b"the app", ["python", "-c", "loader"])


def test_golden(superlink_spec: Any, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "program_text", lambda name: f"the text of {name}\n")
    golden("superlink-schedule", objects(superlink_spec()))


def test_pods_may_do_what_data_scientists_may_and_the_controller_can_grant_that(superlink_spec: Any) -> None:
    spec = HubSpec.parse(superlink_spec())
    (role,) = [one for one in objects(superlink_spec()) if one["kind"] == "Role"]
    wanted = singles(role["rules"], spec.namespace)
    for holder in ("scientist", "controller"):
        rules = [
            {"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb], "resourceNames": [right.name] if right.name else []}
            for need in grants.grants(holder, "superlink", spec)[spec.namespace]
            for right in grants.rights(need, spec.namespace)
        ]
        assert missing(wanted, rules) == []


def test_all_objects_are_covered_by_the_rights_that_are_checked(superlink_spec: Any) -> None:
    for policies in (True, False):
        given = superlink_spec(network_policies=policies)
        granted = grants.controller_rights("superlink", HubSpec.parse(given), works=[SCHEDULE])["flower"]
        kinds = {f"{one['kind'].lower()}s".replace("policys", "policies") for one in objects(given)}
        assert kinds == {right.resource for right in granted if right.verb == "patch"}


def test_overlaps_are_allowed_where_that_is_wanted(superlink_spec: Any) -> None:
    for overlap, policy in (("skip", "Forbid"), ("allow", "Allow")):
        *_others, job = objects(superlink_spec(), overlap=overlap)
        assert job["spec"]["concurrencyPolicy"] == policy


def test_they_are_of_the_hub(superlink_spec: Any) -> None:
    assert {owners.part_of(one) for one in objects(superlink_spec())} == {owners.PART_HUB}
