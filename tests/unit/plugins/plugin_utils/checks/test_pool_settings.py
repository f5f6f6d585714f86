# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""C(supernode_replicas), C(supernode_node_config) and C(supernode_gpu): what pools have that do not set it themselves, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import site_of
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import role_defaults, role_options
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_variables import HostVariables
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec, uses_placeholder
from ansible_collections.federated.flower.tests.unit.read import trusted
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import drafted, supernode_faults

NUMBERS = {"partition-id": "{partition}", "num-partitions": "{partitions}"}
SITE = {"site": "{cluster}"}
DELIVERIES = ("direct", "ocm", "bundle")


def site(**variables: Any) -> SiteSpec:
    """A site out of the variables of its host, with the defaults of the role, as its tasks see it."""
    defaults = role_defaults("supernode")
    groups = {"flower_hub": ["hub"], "flower_sites": ["site-a"]}
    raw = {**defaults.values, **trusted(variables), "inventory_hostname": "site-a", "groups": groups, "hostvars": {"hub": {}}}
    found = HostVariables(raw, Templar(loader=DataLoader(), variables=raw).template, defaults)
    given = {name: found[name] for name in role_options("supernode") if name in found}
    return site_of("site-a", given, access_of(found)).spec


def pools(**variables: Any) -> dict[str, tuple[int, dict[str, Any], int]]:
    """Name of each pool -> replicas, node config, devices."""
    return {pool.name: (pool.replicas, pool.node_config, pool.gpu.count) for pool in site(**variables).pools}


def test_a_site_without_variables_has_one_supernode() -> None:
    assert pools() == {"default": (1, NUMBERS, 0)}


@each_row("delivery", DELIVERIES)
def test_variables_of_the_site_shape_its_only_pool(delivery: str) -> None:
    spec = site(supernode_replicas=3, supernode_node_config=SITE, supernode_gpu={"count": 2, "runtime_class": "nvidia"}, flower_delivery=delivery)
    (pool,) = spec.pools
    assert (pool.name, pool.replicas, pool.node_config, pool.gpu.count) == ("default", 3, {**NUMBERS, **SITE}, 2)
    (workload,) = (one for one in drafted(spec) if one["kind"] == "StatefulSet")
    text = json.dumps(workload)
    assert workload["spec"]["replicas"] == 3 and '"nvidia.com/gpu": "2"' in text and 'site=\\"site-a\\"' in text
    # The job that creates keys is no SuperNode.
    job = json.dumps(site_jobs.key_job(spec.complete(), "", "x", {}, 60))
    assert "nvidia" not in job


def test_the_number_can_be_a_template() -> None:
    assert pools(supernode_replicas="{{ [ocm_gpus, 8] | min }}", ocm_gpus=4)["default"][0] == 4


@each_row(
    ("config", "wanted"),
    [
        ({"partition-id": None, "lr": 0.1}, {"num-partitions": "{partitions}", "lr": 0.1}),
        ({"partition-id": 7}, {"partition-id": 7, "num-partitions": "{partitions}"}),
        # A pool counts one way.
        ({"part": "{index}"}, {"part": "{index}"}),
        ({"part": {"string": "{replicas}"}}, {"part": {"string": "{replicas}"}}),
    ],
)
def test_numbers_are_replaced_removed_or_left_out(config: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert pools(supernode_node_config=config)["default"][1] == wanted


def test_a_pool_inherits_and_its_own_settings_win() -> None:
    found = pools(
        supernode_replicas=4,
        supernode_node_config={**SITE, "lr": 0.1},
        supernode_gpu={"count": 1},
        supernode_pools=[
            {"name": "plain"},
            {"name": "own", "replicas": 2, "gpu": {}, "node_config": {"lr": 0.2, "site": None, "num-partitions": None}},
            {"name": "big", "gpu": {"count": 8}},
        ],
    )
    assert found == {
        "plain": (4, {**NUMBERS, **SITE, "lr": 0.1}, 1),
        "own": (2, {"partition-id": "{partition}", "lr": 0.2}, 0),
        "big": (4, {**NUMBERS, **SITE, "lr": 0.1}, 8),
    }


def test_pools_without_settings_of_the_site_are_what_they_were() -> None:
    """Their pods would restart."""
    assert pools(supernode_pools=[{"name": "cpu", "node_config": {"x": 1}}, {"name": "bare"}]) == {"cpu": (1, {"x": 1}, 0), "bare": (1, {}, 0)}


def test_pods_of_a_daemon_set_have_no_number() -> None:
    found = pools(supernode_replicas=4, supernode_node_config=SITE, supernode_pools=[{"name": "edge", "mode": "DaemonSet"}])
    assert found == {"edge": (0, SITE, 0)}


EDGE = [{"name": "edge", "mode": "DaemonSet"}]


@each_row(
    ("changes", "sentence"),
    [
        ({"replicas": -1}, "site-a: supernode_replicas: -1 is not between 0 and 1000"),
        ({"replicas": 1001}, "site-a: supernode_replicas: 1001 is not between 0 and 1000"),
        ({"replicas": "two"}, "supernode_replicas: 'two' is not an integer"),
        ({"replicas": 600, "pools": [{"name": "a"}, {"name": "b"}]}, "the pools have 1200 replicas together"),
        ({"node_config": "site"}, "supernode_node_config: a value of the type str (not shown) is not a mapping"),
        ({"node_config": {"x": "{indx}"}, "pools": [{"name": "a"}]}, "did you mean {index}?"),
        (
            {"node_config": {"x": "{indx}"}, "pools": [{"name": "a"}]},
            "The key is from supernode_node_config: change it there, or remove it with null in the pool",
        ),
        ({"node_config": {"x": None}, "pools": [{"name": "a"}]}, "pool 'a' (cluster 'site-a'): node_config key 'x'"),
        ({"node_config": {"y": 1}, "pools": [{"name": "a", "node_config": {"x": None}}]}, "pool 'a' (cluster 'site-a'): node_config key 'x'"),
        ({"pools": [{"name": "a", "node_config": {"partition-id": None}}]}, "pool 'a' (cluster 'site-a'): node_config key 'partition-id'"),
        ({"gpu": 1}, "supernode_gpu: a value of the type int (not shown) is not a mapping"),
        ({"gpu": {"cuont": 1}}, "supernode_gpu.cuont"),
        ({"gpu": {"count": -1}}, "site-a: supernode_gpu.count: -1 is below 0"),
        ({"gpu": {"resource": "gpu"}}, "site-a: supernode_gpu.resource: 'gpu' is not an extended resource"),
        ({"gpu": {"mount_all": True}}, "site-a: supernode_gpu.mount_all: True needs a runtime_class"),
        # Although the only pool does not have it.
        ({"gpu": {"count": -1}, "pools": [{"name": "a", "gpu": {}}]}, "site-a: supernode_gpu.count: -1 is below 0"),
        (
            {"gpu": {"count": 1}, "pools": [{"name": "a", "superexec_resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
            "supernode_gpu.resource: 'nvidia.com/gpu' is among the limits of the container, too",
        ),
    ],
)
@each_row("delivery", DELIVERIES)
def test_faults(supernode_spec: Callable[..., Any], delivery: str, changes: dict[str, Any], sentence: str) -> None:
    faults = supernode_faults(supernode_spec(delivery=delivery, ocm_cluster="site-a", ocm_addon="flower-supernode", bundle_directory="/b", **changes))
    assert any(sentence in fault for fault in faults), faults
    assert all("site-a" in fault for fault in faults)


def test_a_number_for_the_pods_of_a_daemon_set(supernode_spec: Callable[..., Any]) -> None:
    faults = supernode_faults(supernode_spec(node_config={"n": "{partition}"}, pools=EDGE))
    assert any("The key is from supernode_node_config" in fault for fault in faults), faults
    assert all("site-a" in fault for fault in faults)


def test_an_empty_list_of_pools_is_still_refused(supernode_spec: Callable[..., Any]) -> None:
    faults = supernode_faults(supernode_spec(replicas=3, pools=[]))
    assert faults == ["site-a: supernode_pools: [] is empty; a site needs at least one SuperNode"]


def test_what_fits_each_other_is_accepted(supernode_spec: Callable[..., Any]) -> None:
    given = {"replicas": 0, "gpu": {"count": 1}, "node_config": {"n": "{partition}"}, "pools": [{"name": "a"}, {**EDGE[0], "node_config": {"n": None}}]}
    assert supernode_faults(supernode_spec(**given)) == []


def test_placeholders_in_a_node_config_are_found() -> None:
    assert uses_placeholder({"a": 1, "b": "x{partition}"}, "{partition}")
    assert uses_placeholder({"a": {"string": "{partition}"}}, "{partition}")
    assert not uses_placeholder({"a": "{partitions}", "b": None, "c": {"x": "{partition}"}}, "{partition}")
    assert not uses_placeholder(None, "{partition}")
