# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of many hosts: the same values as Ansible's, each expression once."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions import role_options
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import role_defaults
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_variables import (
    Defaults,
    HostVariables,
    names_in,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

HOSTVARS: dict[str, dict[str, str]] = {"hub": {}, "a": {}, "b": {}}
GROUPS = {"groups": {"flower_hub": ["hub"]}, "hostvars": HOSTVARS}


class Counted:
    """Templates as Ansible does, and counts."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.templar = Templar(loader=DataLoader(), variables=variables)
        self.count = 0

    def __call__(self, value: Any) -> Any:
        self.count += 1
        return self.templar.template(value)


def variables(host: str, defaults: Defaults, **given: Any) -> tuple[HostVariables, Counted]:
    raw = {**defaults.values, **GROUPS, "inventory_hostname": host, **trusted(given)}
    template = Counted(raw)
    return HostVariables(raw, template, defaults), template


@each_row(
    "given",
    [
        {},
        {"flower_namespace": "other", "flower_insecure": True},
        {"flower_labels": {"a": "{{ inventory_hostname }}"}, "flower_connectivity": "skupper"},
        {"supernode_mtls": "{{ not (supernode_insecure | bool) }}", "flower_clientapp_wait": 5},
    ],
)
def test_values_are_those_of_ansible(given: dict[str, Any]) -> None:
    defaults = Defaults(role_defaults("supernode").values)  # what others found is for another inventory
    for host in ("a", "b"):
        found, template = variables(host, defaults, **given)
        for name in defaults.values:
            assert found[name] == template.templar.template(found._raw[name]), name


def test_a_default_is_evaluated_once_for_the_same_inputs() -> None:
    defaults = Defaults(
        trusted({"role_x": "{{ shared | default('none') }}", "role_y": "{{ role_x }}-{{ inventory_hostname }}"})
    )
    first, one = variables("a", defaults)
    second, two = variables("b", defaults)
    other, three = variables("c", defaults, shared="some")
    assert (first["role_x"], second["role_x"], other["role_x"]) == ("none", "none", "some")
    assert (one.count, two.count, three.count) == (1, 0, 1)
    assert (first["role_y"], second["role_y"]) == ("none-a", "none-b")


def test_the_hub_is_where_its_own_variables_say_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOSTVARS, "hub", {"flower_namespace": "fed-a"})
    defaults = Defaults(role_defaults("supernode").values)
    first, _one = variables("a", defaults, flower_namespace="of-the-site")
    second, two = variables("b", defaults)
    other, _three = variables("c", defaults, supernode_hub="b")
    assert (first["supernode_hub_namespace"], second["supernode_hub_namespace"], other["supernode_hub_namespace"]) == ("fed-a", "fed-a", "flower")
    assert two.count == 0 and variables("d", defaults, supernode_hub="unknown")[0]["supernode_hub_namespace"] == "flower"


def test_what_is_given_is_never_shared() -> None:
    defaults = Defaults(trusted({"role_x": "{{ shared }}"}))
    first, _one = variables("a", defaults, role_x="{{ inventory_hostname }}")
    second, _two = variables("b", defaults, role_x="{{ inventory_hostname }}")
    assert (first["role_x"], second["role_x"]) == ("a", "b")


def test_values_that_are_shared_can_be_changed() -> None:
    defaults = Defaults(trusted({"role_x": "{{ shared | default([1]) }}"}))
    first, _one = variables("a", defaults)
    first["role_x"].append(2)
    assert variables("b", defaults)[0]["role_x"] == [1]


def test_names_and_lookups() -> None:
    assert names_in("{{ a.b | default(c ~ 'd') }}") == {"a", "c"}
    assert Defaults({"x": "{{ lookup('env', a) }}"}).names("x", "{{ lookup('env', a) }}") is None
    assert Defaults({"x": "{{ groups[a] }}"}).names("x", "{{ groups[a] }}") == ["a"]


def test_a_variable_that_is_not_there() -> None:
    found, _template = variables("a", Defaults({}))
    assert "role_x" not in found and found.get("role_x") is None
    with pytest.raises(KeyError):
        found["role_x"]


def test_the_same_value_of_a_variable_is_checked_once_and_a_wrong_one_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[set[str]] = []

    class Validator(role_options.ArgumentSpecValidator):
        def validate(self, parameters: dict[str, Any]) -> Any:
            checked.append(set(parameters))
            return super().validate(parameters)

    monkeypatch.setattr(role_options, "ArgumentSpecValidator", Validator)
    good: set[tuple[str, str]] = set()

    def faults(**values: Any) -> list[str]:
        return role_options.variable_faults(values.__getitem__, values, ("supernode",), good)

    first = {"supernode_wait_timeout": 300, "supernode_insecure": True}
    assert faults(**first) == [] == faults(**first)
    assert faults(**first, supernode_namespace="a") == []
    assert checked == [set(first), set(), {"supernode_namespace"}]
    for _time in range(2):
        assert "supernode_insecure" in faults(**{**first, "supernode_insecure": "perhaps"})[0]
    assert "is not true or false" in faults(**{**first, "supernode_insecure": {}})[0]
