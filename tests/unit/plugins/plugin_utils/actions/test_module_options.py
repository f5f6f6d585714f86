# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions take the options that the documentation of their modules has, and the documentation lists what the code knows."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.federated.flower.plugins.action import skupper, superlink_standby
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.module_options import module_options
from ansible_collections.federated.flower.plugins.plugin_utils.base.platforms import PLATFORMS
from ansible_collections.federated.flower.plugins.plugin_utils.checks.devices import LABELS
from ansible_collections.federated.flower.plugins.plugin_utils.flower.run_table import GROUPS, STATUSES
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import WORKS
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.rotation_plan import CHOICES
from ansible_collections.federated.flower.tests.unit.rows import each_row

ACTIONS = sorted((Path(__file__).parents[5] / "plugins" / "action").glob("[!_]*.py"))


def action_of(name: str) -> Any:
    return import_module(f"ansible_collections.federated.flower.plugins.action.{name}").ActionModule


def faults(name: str, given: dict[str, Any]) -> list[str]:
    action = action_of(name)
    found: list[str] = ArgumentSpecValidator(action.AUTH | action.ARGS, **action.SPEC).validate(given).error_messages
    return found


@each_row("name", [path.stem for path in ACTIONS if issubclass(action_of(path.stem), ClusterAction)])
def test_what_the_documentation_does_not_have_is_refused(name: str) -> None:
    assert action_of(name).ARGS == module_options(name) != {}
    assert any(fault.startswith("undocumented. Supported parameters include") for fault in faults(name, {"undocumented": 1}))


@each_row(
    ("module", "option", "spec"),
    [
        ("takeover", "sites", {"type": "list", "elements": "str"}),  # the module describes it, and its fragment says the rest
        ("superlink_standby", "accept_volumes", {"type": "bool", "default": False}),
        ("supernode_forget", "wait_timeout", {"type": "int", "default": 300}),  # of the part of a fragment
        ("apply", "kubeconfig", None),  # of the fragment of another collection
    ],
)
def test_options_are_those_of_the_module_and_of_our_fragments(module: str, option: str, spec: dict[str, Any] | None) -> None:
    assert module_options(module).get(option) == spec


def test_options_of_an_option_are_checked() -> None:
    found = faults("apply", {"objects": [], "applyset": "a", "owner": {"site": "site-a"}})
    assert found == ["missing required arguments: federation found in owner"]


@each_row(
    ("module", "option", "key", "known"),
    [
        ("node_info", "labels", "default", LABELS),
        ("openshift_project", "platform", "choices", PLATFORMS),
        ("runs_info", "status", "choices", (*STATUSES, *GROUPS)),
        ("skupper", "part", "choices", skupper.PARTS),
        ("skupper", "rotate", "choices", CHOICES),
        ("superlink", "works", "choices", WORKS),
        ("superlink_standby", "state", "choices", superlink_standby.ActionModule.STATES),
    ],
)
def test_the_documentation_lists_what_the_code_knows(module: str, option: str, key: str, known: Iterable[str]) -> None:
    assert module_options(module)[option][key] == [*known]
