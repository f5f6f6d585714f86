# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that the collection does not have, groups that are no fleet, variables that disagree."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.checks import inventory, variables
from ansible_collections.federated.flower.plugins.plugin_utils.programs.metrics_program import METRICS
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).resolve().parents[5]


def test_every_option_of_a_role_is_known():
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        points = yaml_file(*path.relative_to(ROOT).parts)["argument_specs"].values()
        missing = {name for point in points for name in point["options"]} - variables.known()
        assert not missing, path


def test_every_shared_variable_is_used_and_every_used_one_is_known():
    files = [
        *ROOT.glob("playbooks/**/*.yml"),
        *ROOT.glob("roles/*/*/*.yml"),
        *ROOT.glob("plugins/**/*.py"),
        *ROOT.glob("docs/docsite/rst/*.rst"),
    ]
    text = "\n".join(path.read_text() for path in files if path.name != "variables.py")
    text += variables.OWN
    used = set(re.findall(r"\bflower_[a-z0-9_]*[a-z0-9]\b(?![./*{-])", text)) - set(re.findall(r"\bdef (flower_\w+)", text))
    # groups, files, modules, prefixes in prose
    others = {"flower_hub", "flower_sites", "flower_standby", "flower_toml", "flower_rbac", "flower_fleet", "flower_app_", "flower_versions"}
    others |= set(METRICS)
    assert not used - variables.known() - others
    assert not variables.SHARED - used


def test_a_message_names_the_variable_that_gave_a_value():
    raw = {"supernode_clientapp": "{{ flower_clientapp | default('pod') }}", "supernode_env": "{{ flower_x | default([]) }}", "flower_clientapp": "pods"}
    message = "a: value of supernode_clientapp must be one of: pod, workload, got: pods; supernode_env"
    assert variables.with_origins(message, raw) == f"{message}\nsupernode_clientapp has the value of flower_clientapp."
    assert variables.with_origins(message, {**raw, "supernode_clientapp": "pods"}) == message


def read_by_playbooks():
    """Variables with the collection's prefixes that playbooks read or set, with the file of each."""
    prefixed = re.compile(rf"(?<![\w./])(?:{'|'.join(variables.PREFIXES)})[a-z0-9_]+(?![\w(/]|\.yml)")
    for path in (ROOT / "playbooks").rglob("*.yml"):
        # Comments are prose; names of modules, filters and roles have the collection's name before them.
        lines = [line.partition(" #")[0] for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
        for name in prefixed.findall("\n".join(lines)):
            yield name, path.relative_to(ROOT).as_posix()


def test_every_variable_of_playbooks_is_known():
    found = dict(read_by_playbooks())
    assert len(found) > 60
    groups = {"flower_hub", "flower_sites", "flower_standby"} | {"superlink_killed", "supernode_killed"}  # these are drills
    assert {name: path for name, path in found.items() if name not in variables.known() | groups} == {}
    # They are read from the playbooks, so a misspelt one is found by the documentation.
    pages = "\n".join(path.read_text() for pattern in ("docs/**/*.rst", "roles/*/meta/argument_specs.yml") for path in ROOT.glob(pattern))
    written = {name for name in found if name.startswith("flower_") and not re.search(rf"\b{name}\b", pages)}
    assert written - groups == {"flower_outputs_min_free", "flower_outputs_result", "flower_standby_result", "flower_verify_result"}
    for name in ("flower_forget_max", "flower_claim_sites"):
        assert variables.faults("site-a", [name]) == []


def test_results_of_entry_points_are_returned_by_a_role():
    text = "\n".join(path.read_text() for path in ROOT.glob("roles/*/tasks/*.yml"))
    for name in variables.RESULTS:
        assert re.search(rf"(register: {name}$|^    {name}:)", text, re.MULTILINE), name


@each_row(
    ("name", "nearest"),
    [
        ("supernode_pool", "supernode_pools"),
        ("superlink_exposre", "superlink_exposure"),
        ("flower_verison", "flower_version"),
        ("skupper_link_mod", "skupper_link_mode"),
        ("cert_rotation_rotat", "cert_rotation_rotate"),
        ("ocm_addon_nme", "ocm_addon_name"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_nearest_one(name, nearest):
    (fault,) = variables.faults("site-a", [name, nearest, "ansible_host", "my_pool"])
    assert fault.startswith(f"site-a: {name}: ")
    assert f"The most similar one is {nearest}." in fault
    assert variables.faults("site-a", [name], [name]) == []


@each_row(
    ("own", "words"),
    [
        (["my_pool", "flower_mine "], []),
        ("flower_mine", []),
        ("flower_yours, flower_mine", []),  # as -e gives it
        ("flower_yours", ["flower_mine: this collection has no such variable"]),
        ("", ["flower_mine: this collection has no such variable"]),
        (None, ["flower_mine: this collection has no such variable"]),
        ({"flower_mine": True}, ["flower_own_variables is {'flower_mine': True}, which is not a list of names"]),
        (True, ["flower_own_variables is True, which is not a list of names"]),
    ],
)
def test_your_own_variables_are_a_list_or_a_text(own, words):
    found = variables.faults("site-a", ["flower_mine", variables.OWN], own)
    assert [one.startswith("site-a: ") and word in one for one, word in zip(found, words, strict=True)] == [True] * len(words)


@each_row("name", variables.REMOVED)
def test_a_variable_of_earlier_releases_is_named_with_the_remedy(name):
    (fault,) = variables.faults("site-a", [name])
    assert variables.REMOVED[name] in fault and "The most similar one" not in fault and name not in variables.known()


def test_variables_of_inventories_are_known():
    names = set()
    for path in (ROOT / "inventories").rglob("*.yml"):
        names |= set(re.findall(r"^\s*([a-z_0-9]+):", path.read_text(), re.MULTILINE))
    assert variables.faults("x", names - {"flower_hub", "flower_sites"}) == []


def test_groups():
    assert inventory.group_faults({"flower_hub": ["h"], "flower_sites": ["a"]}) == []
    assert inventory.group_faults({"h": ["h"], "s": ["a", "b"]}, "h", "s") == []
    hub, sites = inventory.group_faults({})
    assert "flower_hub has no host" in hub and "flower_sites has no host" in sites
    assert [one for one in inventory.group_faults({}, limited=True) if "flower_sites has no host" in one] == []
    assert "-e flower_hub_group=NAME" in hub
    (two,) = inventory.group_faults({"flower_hub": [f"h{n}" for n in range(7)], "flower_sites": ["a"]})
    assert "flower_hub has 7 hosts (h0, h1, h2, h3, h4 and 2 more)" in two
