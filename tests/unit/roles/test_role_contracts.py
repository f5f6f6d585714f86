# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A role's README and spec follow its argument specification.

UPDATE_GOLDEN=1 pytest writes the tables of the READMEs anew.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.unit.read import PLAYBOOKS, role_options, yaml_file

ROOT = Path(__file__).resolve().parents[3]
ROLES = (
    "awx", "cert_rotation", "clientapp", "ocm_addon", "skupper_link", "skupper_listener", "skupper_site", "superlink", "supernode",
)  # fmt: skip
TABLE = re.compile(r"(## Parameters\n.*?\n)(?=\n## )", re.S)
HEAD = "| Parameter | Description | Type | Required | Default |\n|---|---|---|---|---|\n"


def options(role: str) -> dict[str, Any]:
    return role_options(role)


def sections(role: str) -> list[tuple[str, list[str]]]:
    """Headings (comments that stand alone after an empty line) and variables of defaults/main.yml."""
    found: list[tuple[str, list[str]]] = []
    empty = False
    for line in (ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8").splitlines():
        if empty and line.startswith("# "):
            found.append((line[2:].split(". ")[0].rstrip("."), []))
        elif named := re.match(r"(?:# )?([a-z_]+):", line):  # a comment: a variable without a default
            found[-1][1].append(named[1])
        empty = not line
    return found


def markdown(text: str) -> str:
    """Ansible markup and Markdown's own signs as Markdown."""
    text = re.sub(r"[VCO]\(([^)]*)\)", r"`\1`", text)
    text = re.sub(r"M\(([^)]*)\)", r"`\1`", text)
    return text.replace("|", "\\|")


def row(name: str, option: dict[str, Any]) -> str:
    words = [markdown(sentence) for sentence in option["description"]]
    choices = [f"`{choice}`" if choice else "empty" for choice in option.get("choices", [])]
    if choices:
        words.append(f"Choices: {', '.join(choices)}.")
    kind = option["type"] + (f" of {option['elements']}" if "elements" in option else "")
    default = option.get("default")
    shown = "-" if default is None else default if isinstance(default, str) and default else json.dumps(default)
    shown = shown if shown == "-" else f"`{shown}`"
    return f"| `{name}` | {' '.join(words)} | {kind} | {'yes' if option.get('required') else 'no'} | {shown} |\n"


def rows(name: str, option: dict[str, Any], known: set[str]) -> Iterator[str]:
    """The row of an option, and those of the options in it that the role does not have for all pools, too."""
    yield row(name, option)
    for inner, suboption in option.get("options", {}).items():
        if name.endswith("_pools") and inner in known:
            continue
        yield from rows(f"{name}{'[]' if option['type'] == 'list' else ''}.{inner}", suboption, known)


def parameters(role: str) -> str:
    specified = options(role)
    site_wide = {name[len(role) + 1 :] for name in specified}
    text = f"## Parameters\n\n`ansible-doc -t role federated.flower.{role}` lists all details.\n"
    for title, names in sections(role):
        text += f"\n### {title}\n\n{HEAD}" + "".join(
            line for name in names for line in rows(name, specified[name], site_wide)
        )
    return text


@pytest.mark.parametrize("role", ROLES)
def test_readme_has_every_parameter(role: str) -> None:
    path = ROOT / "roles" / role / "README.md"
    text = path.read_text(encoding="utf-8")
    wanted = parameters(role)
    if os.environ.get("UPDATE_GOLDEN"):
        text = TABLE.sub(lambda _: wanted, text)
        path.write_text(text, encoding="utf-8")
    assert wanted in text, f"{path.name} of {role} is behind argument_specs.yml: UPDATE_GOLDEN=1 pytest writes it"
    assert all(f"| `{name}` |" in text for name in options(role))


@pytest.mark.parametrize("role", ROLES)
def test_headings_are_no_remarks_on_one_variable(role: str) -> None:
    """They stand above all variables that follow: a remark belongs behind the key of its variable."""
    assert [title for title, _names in sections(role) if re.search(r"\bare\b", title)] == []


@pytest.mark.parametrize("role", ROLES)
def test_readme_says_what_a_role_promises(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert [word for word in ("Outcome", "Roll-back", "Idempotent", "Atomic") if f"| {word} |" not in text] == []


def test_pools_have_the_options_that_the_renderer_knows() -> None:
    from ansible_collections.federated.flower.plugins.plugin_utils.checks.site_rules import POOL_KEYS

    assert set(options("supernode")["supernode_pools"]["options"]) == set(POOL_KEYS)


def test_every_option_of_a_site_or_hub_is_read() -> None:
    from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import APART
    from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import SETTINGS
    from ansible_collections.federated.flower.plugins.plugin_utils.spec import hub_spec, pods_spec, site_spec
    from ansible_collections.federated.flower.plugins.plugin_utils.spec import site_spec as pool_spec

    def names(*kinds: type) -> set[str]:
        return {one.name for kind in kinds for one in dataclasses.fields(kind)}

    given = {name.removeprefix("supernode_") for name in options("supernode") if name.startswith("supernode_")}
    assert given - set(APART) - names(site_spec.SiteSpec, pool_spec.PoolSpec) == set()
    known = names(hub_spec.HubSpec, pods_spec.PodsSpec)
    known |= {f"{hub_spec.SERVERAPP}{name}" for name in names(pods_spec.PodsSpec)}
    given = {name.removeprefix("superlink_") for name in options("superlink") if name.startswith("superlink_")}
    assert given - set(SETTINGS) - known == {"address"}, "that one is superlink_address also in the specification"


@pytest.mark.parametrize("role", ROLES)
def test_an_option_names_the_shared_variable_that_it_takes_its_value_from(role: str) -> None:
    """Errors of a role name its options, and people give the shared variables."""
    text = (ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8")
    taken = re.findall(r"^([a-z_]+): *(?:>-\n *)?\"?\{\{ (flower_\w+) \| default\((?!flower_)", text, re.M)
    described = {name: " ".join(option["description"]) for name, option in options(role).items()}
    assert [(name, shared) for name, shared in taken if shared not in described.get(name, shared)] == []


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
