# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""What roles promise, and the options of their argument specifications."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.tests.unit.read import PLAYBOOKS, role_options, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).resolve().parents[3]
ROLES = (
    "awx", "cert_rotation", "clientapp", "ocm_addon", "skupper_link", "skupper_listener", "skupper_site", "superlink", "supernode",
)  # fmt: skip


@each_row("role", ROLES)
def test_readme_says_what_a_role_promises(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert [word for word in ("Outcome", "Roll-back", "Idempotent", "Atomic") if f"| {word} |" not in text] == []


def test_pools_have_the_options_that_the_renderer_knows() -> None:
    from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import OWN, SHARED

    assert set(role_options("supernode")["supernode_pools"]["options"]) == {*OWN, *SHARED}


def test_every_option_of_a_site_or_hub_is_read() -> None:
    from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import APART
    from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import SETTINGS
    from ansible_collections.federated.flower.plugins.plugin_utils.spec import hub_spec, pods_spec, site_spec
    from ansible_collections.federated.flower.plugins.plugin_utils.spec import site_spec as pool_spec

    def names(*kinds: type) -> set[str]:
        return {one.name for kind in kinds for one in dataclasses.fields(kind)}

    given = {name.removeprefix("supernode_") for name in role_options("supernode") if name.startswith("supernode_")}
    assert given - set(APART) - names(site_spec.SiteSpec, pool_spec.PoolSpec) == set()
    known = names(hub_spec.HubSpec, pods_spec.PodsSpec)
    known |= {f"serverapp_{name}" for name in names(pods_spec.PodsSpec)}
    given = {name.removeprefix("superlink_") for name in role_options("superlink") if name.startswith("superlink_")}
    assert given - set(SETTINGS) - known == {"address"}, "that one is superlink_address also in the specification"


def roles_of(value: Any) -> Iterator[dict[str, Any]]:
    """The arguments of all tasks that take in a role."""
    if isinstance(value, dict):
        yield from (task for name, task in value.items() if name in ("ansible.builtin.import_role", "ansible.builtin.include_role"))
        yield from (found for entry in value.values() for found in roles_of(entry))
    elif isinstance(value, list):
        yield from (found for entry in value for found in roles_of(entry))


def test_a_wrong_value_of_the_hub_is_not_answered_with_the_whole_specification() -> None:
    """So Ansible's own check of a role does. The tasks with which playbooks begin at the hub check the variables themselves, in one line each."""
    first = ("preflight", "describe", "restore")
    plays = [(name, yaml_file("playbooks", name)) for name in PLAYBOOKS]
    roles = [(name, task) for name, play in plays for task in roles_of(play)]
    found = [(name, task) for name, task in roles if task["name"] == "federated.flower.superlink" and task.get("tasks_from") in first]
    assert {"parts/site_check.yml", "restore.yml", "reconcile.yml", "standby.yml"} <= {name for name, _task in found}
    assert [name for name, task in found if task.get("rolespec_validate") is not False] == []
