# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin says what it does; what it does is tested on an API server (tests/integration/test_ocm_inventory.py)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.inventory import ocm
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import AUTH_ARGS
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import clusters, statuses
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "inventories" / "example-ocm"
DOCUMENTED = yaml.safe_load(ocm.DOCUMENTATION)
VARIABLES = {
    *clusters.variables({"metadata": {"name": "x"}}),
    *statuses.decisions([{"metadata": {}, "status": {"decisions": [{"clusterName": "x"}]}}])["x"],
}
# Of the fragments ansible.builtin.constructed and ansible.builtin.inventory_cache.
CONSTRUCTED = {"compose", "groups", "keyed_groups", "leading_separator", "strict", "use_extra_vars"}
CACHE = {"cache", "cache_connection", "cache_plugin", "cache_prefix", "cache_timeout"}
OPTIONS = {*DOCUMENTED["options"], *AUTH_ARGS, *CONSTRUCTED, *CACHE}


def files() -> list[dict[str, Any]]:
    """The example inventory and those of the documentation."""
    example = yaml.safe_load((EXAMPLE / "fleet.ocm.yml").read_text(encoding="utf-8"))
    return [example, *yaml.safe_load_all(ocm.EXAMPLES)]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("fleet.ocm.yml", True),
        ("fleet.ocm.yaml", True),
        ("ocm.yml", False),
        ("fleet-ocm.yml", False),
        ("fleet.ocm.json", False),
        ("fleet.ocm.yml.bak", False),
    ],
)
def test_files(name: str, good: bool, tmp_path: Path) -> None:
    plugin = ocm.InventoryModule()
    path = tmp_path / name
    assert not plugin.verify_file(str(path)), "there is no such file"
    path.write_text("plugin: federated.flower.ocm\n", encoding="utf-8")
    assert plugin.verify_file(str(path)) is good


def test_every_variable_is_documented() -> None:
    documented = set(re.findall(r"C\((ocm_\w+)\)", ocm.DOCUMENTATION))
    assert documented == VARIABLES
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_ocm_inventory.rst").read_text(encoding="utf-8")
    assert {name for name in VARIABLES if name not in guide} == set()


def test_the_default_of_gpu_resources_is_the_code_s() -> None:
    assert tuple(DOCUMENTED["options"]["gpu_resources"]["default"]) == clusters.GPU_RESOURCES


@each_row("config", files())
def test_examples_use_known_options_and_variables(config: dict[str, Any]) -> None:
    assert config["plugin"] == ocm.InventoryModule.NAME
    assert set(config) - OPTIONS == set()
    assert set(re.findall(r"\bocm_\w+", yaml.safe_dump(config))) - VARIABLES == set()


def test_the_guide_shows_the_file_of_the_example() -> None:
    guide = (ROOT / "docs" / "docsite" / "rst" / "guide_ocm_inventory.rst").read_text(encoding="utf-8")
    (shown,) = re.findall(r"\n    # fleet/fleet\.ocm\.yml\n((?:    .*\n|\n)+)", guide)
    assert yaml.safe_load(shown) == files()[0]


def test_the_example_s_variables_are_known() -> None:
    known: set[str] = set()
    for role in ("ocm_addon", "superlink", "supernode"):
        specs = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
        known |= set(specs["argument_specs"]["main"]["options"])
        known |= set(re.findall(r"\bflower_\w+", (ROOT / "roles" / role / "defaults" / "main.yml").read_text("utf-8")))
    used: set[str] = set()
    for path in EXAMPLE.glob("group_vars/*/*.yml"):
        used |= set(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert used - known == set()


def test_the_add_on_of_the_example_selects_its_clusters() -> None:
    config = files()[0]
    variables: dict[str, Any] = {}
    for path in (*EXAMPLE.glob("group_vars/all/*.yml"), *EXAMPLE.glob("group_vars/flower_hub/*.yml")):
        variables |= yaml.safe_load(path.read_text(encoding="utf-8"))
    assert variables["flower_ocm_cluster_sets"] == config["cluster_sets"]
    (one,) = variables["ocm_addon_predicates"]
    labels = one["requiredClusterSelector"]["labelSelector"]["matchLabels"]
    assert ",".join(f"{key}={value}" for key, value in labels.items()) == config["label_selector"]
