# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example inventory says what its comments say, and uses no variable that nothing reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import site_of
from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import described
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import role_defaults, role_options
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_variables import HostVariables
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers
from ansible_collections.federated.flower.tests.unit.read import trusted, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults, supernode_faults

ROOT = Path(__file__).parents[2]
INVENTORY = ROOT / "inventories" / "example"
HUB, SITES = "flower_hub", "flower_sites"

# How a cluster is reached: documented in plugins/doc_fragments/cluster.py.
CONNECTION = {"flower_auth", "flower_context", "flower_kubeconfig"}
# Facts that 99-constructed.yml makes groups of, besides those that are variables of the collection.
FACTS = {"gpu"}


@cache
def listing() -> dict[str, Any]:
    """Output of C(ansible-inventory --list): groups, and below C(_meta) the merged variables of each host."""
    run = subprocess.run(
        [sys.executable, "-m", "ansible", "inventory", "-i", str(INVENTORY), "--list"],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr, run.stderr
    return json.loads(run.stdout)


def hostvars() -> dict[str, dict[str, Any]]:
    return listing()["_meta"]["hostvars"]


def members(group: str) -> list[str]:
    """Hosts of a group."""
    return sorted(listing()[group]["hosts"])


def role(name: str, file: str) -> dict[str, Any]:
    """A YAML file of a role."""
    return yaml_file("roles", name, file)


def known_variables() -> set[str]:
    """Options of both roles, and the flower_* variables that roles and playbooks read."""
    known: set[str] = set()
    for name in ("superlink", "supernode"):
        known |= set(role(name, "meta/argument_specs.yml")["argument_specs"]["main"]["options"])
    for path in [*ROOT.glob("roles/*/defaults/main.yml"), *ROOT.glob("playbooks/**/*.yml")]:
        known |= set(re.findall(r"\bflower_[a-z_]+", path.read_text(encoding="utf-8")))
    return known


class Check(ClusterAction):
    """An action on a host of the inventory, before anything is known from the clusters."""

    def __init__(self, host: str, groups: dict[str, list[str]]) -> None:
        self.inventory_host = host
        own = trusted({key: value for key, value in hostvars()[host].items() if key not in CONNECTION})
        self.task_vars = {**own, "inventory_hostname": host, "groups": groups}
        self._templar = Templar(loader=DataLoader(), variables=self.task_vars)

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


def spec_of(host: str, name: str) -> dict[str, Any]:
    """The variables of the role C(name) for a host, as its specification."""
    groups = {group: entry["hosts"] for group, entry in listing().items() if "hosts" in entry}
    return site_spec(host, groups) if name == "supernode" else described(Check(host, groups))


def site_spec(host: str, groups: dict[str, list[str]]) -> dict[str, Any]:
    """The spec that the action makes of the variables of a site."""
    defaults = role_defaults("supernode")
    own = trusted({key: value for key, value in hostvars()[host].items() if key not in CONNECTION})
    raw = {**defaults.values, **own, "inventory_hostname": host, "groups": groups}
    found = HostVariables(raw, Templar(loader=DataLoader(), variables=raw).template, defaults)
    return site_of(host, {name: found[name] for name in role_options("supernode") if name in found}, access_of(found)).given


def test_every_variable_is_known() -> None:
    known = known_variables() | CONNECTION | FACTS
    assert {host: set(found) - known for host, found in hostvars().items() if set(found) - known} == {}


def test_no_host_has_faults() -> None:
    assert [fault for host in members(SITES) for fault in supernode_faults(spec_of(host, "supernode"))] == []
    assert [fault for host in members(HUB) for fault in superlink_faults(spec_of(host, "superlink"))] == []


def test_groups_follow_from_facts() -> None:
    assert members(HUB) == ["hub-fra"]
    assert members("region_eu") == ["clinic-lyon", "clinic-turin", "institute-zurich"]
    assert members("region_us") == ["hospital-boston", "lab-denver"]
    assert members("gpu_a100") == ["institute-zurich", "lab-denver"]
    assert sorted(members("region_eu") + members("region_us")) == members(SITES)


def test_every_host_says_how_its_cluster_is_reached() -> None:
    assert [host for host, found in hostvars().items() if not CONNECTION & set(found)] == []


@each_row(
    ("host", "mirror", "pool", "selector"),
    [
        ("clinic-lyon", "mirror.eu.example.com/docker", "cpu", {"topology.kubernetes.io/region": "eu-central-1"}),
        ("hospital-boston", "mirror.us.example.com/docker", "cpu", {"topology.kubernetes.io/region": "us-east-1"}),
        (
            "institute-zurich",
            "mirror.eu.example.com/docker",
            "a100",
            {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
        ),
        ("lab-denver", "mirror.us.example.com/docker", "a100", {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}),
    ],
)
def test_regions_and_gpus_merge(host: str, mirror: str, pool: str, selector: dict[str, str]) -> None:
    spec = SiteSpec.parse(spec_of(host, "supernode"))
    assert spec.image_registry == mirror
    (only,) = spec.pools
    assert only.name == pool
    assert only.node_selector == selector
    assert spec.time_zone == {"eu": "Europe/Paris", "us": "America/New_York"}[spec.region]
    assert [one["topologyKey"] for one in only.topology_spread_constraints] == (["topology.kubernetes.io/zone"] if spec.region == "eu" else [])
    assert [item["name"] for item in only.env] == (["HTTPS_PROXY", "NO_PROXY"] if spec.region == "us" else [])


def test_the_fixed_number_of_partitions_is_enough() -> None:
    wanted = {
        host: {pool.name: pool.replicas for pool in SiteSpec.parse(spec_of(host, "supernode")).pools}
        for host in members(SITES)
    }
    fixed = hostvars()["clinic-lyon"]["flower_partitions"]
    book = partition_numbers.allocate(partition_numbers.empty_book(), wanted, partitions=fixed).book
    assert partition_numbers.span(book) == sum(sum(pools.values()) for pools in wanted.values()) == fixed - 2


GPUS = ("a100", "flex170", "mi300x", "mig_1g_10gb", "shared", "workstation")


@each_row("group", GPUS)
def test_there_are_pools_for_each_type_of_gpu(group: str) -> None:
    """Most have no host here: a site with that fact gets them."""
    own = yaml_file("inventories", "example", "group_vars", f"gpu_{group}", "pools.yml")
    given = {**spec_of("clinic-lyon", "supernode"), "pools": own["supernode_pools"]}
    assert supernode_faults(given) == []
    (pool,) = SiteSpec.parse(given).pools
    assert pool.gpu.is_used
    kept = sorted(path.name for path in (INVENTORY / "group_vars").glob("gpu_*"))
    assert kept == sorted(f"gpu_{name}" for name in GPUS)
