# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pools would wait for GPUs, and why; what nodes have, as facts and groups."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks import devices
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row

GPU = "nvidia.com/gpu"


def node(name: str, taints: list[dict[str, str]] | None = None, **allocatable: str) -> dict[str, Any]:
    named = {key.replace("_", "/"): value for key, value in allocatable.items()}
    return {
        "metadata": {"name": name, "labels": {"host": name}},
        "spec": {"taints": taints or []},
        "status": {"allocatable": {"cpu": "2", **named}},
    }


def gpus(name: str, number: int | str, **more: Any) -> dict[str, Any]:
    return node(name, **{"nvidia.com_gpu": str(number)}, **more)


def pod(where: str, number: int, namespace: str = "clinic", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    container = {"resources": {"limits": {GPU: str(number), "cpu": "1"}}}
    return {
        "metadata": {"namespace": namespace, "name": "other"},
        "spec": {"nodeName": where, "containers": [container], **spec},
        "status": {"phase": phase},
    }


def site(*pools: dict[str, Any]) -> SiteSpec:
    return SiteSpec.parse({"namespace": "flower", "federation": "flower", "pools": list(pools)})


def pool(name: str = "a100", count: int = 1, resource: str = GPU, **more: Any) -> dict[str, Any]:
    return {"name": name, "gpu": {"count": count, "resource": resource}, **more}


def test_a_gpu_that_no_node_has_is_told_with_what_the_nodes_have() -> None:
    (warning,) = require(devices.check(site(pool(count=2)), [gpus("one", 1), node("two")]))
    for part in ("pool a100", "2 x nvidia.com/gpu", "one has nvidia.com/gpu 1", "two has no extended resources"):
        assert part in warning
    assert require(devices.check(site(pool(count=2)), [gpus("one", 2)])) == []
    assert require(devices.check(site({"name": "cpu"}), [])) == []


@each_row(
    ("pools", "nodes", "pods", "waits"),
    [
        ([pool(replicas=4)], [gpus("one", 4)], [], []),
        ([pool(replicas=5)], [gpus("one", 4)], [], ["1 of 5 SuperNodes of pool a100"]),
        ([pool(replicas=2, count=2)], [gpus("one", 3), gpus("two", 1)], [], ["1 of 2"]),  # never two nodes for one pod
        ([pool(replicas=3)], [gpus("one", 4)], [pod("one", 2)], ["1 of 3"]),
        ([pool(replicas=3)], [gpus("one", 4)], [pod("two", 2)], []),
        ([pool(replicas=3)], [gpus("one", 4)], [pod("one", 2, phase="Succeeded")], []),
        ([pool(replicas=1)], [gpus("one", 1)], [pod("one", 9)], ["1 of 1"]),
        ([pool("a", replicas=2), pool("b", replicas=2)], [gpus("one", 3)], [], ["1 of 2 SuperNodes of pool b"]),
        ([pool("a", resource="amd.com/gpu"), pool("b")], [node("one", **{"amd.com_gpu": "1", "nvidia.com_gpu": "1"})], [], []),
        ([pool(mode="DaemonSet")], [gpus("one", 1), gpus("two", 1)], [pod("two", 1)], ["1 of 2"]),
        ([pool(replicas=2, node_selector={"host": "one"})], [gpus("one", 1), gpus("two", 4)], [], ["1 of 2"]),
        ([pool(replicas=2)], [gpus("one", 1), gpus("two", 4, taints=[{"key": "x", "effect": "NoSchedule"}])], [], ["1 of 2"]),
        ([pool(replicas=1000)], [gpus("one", "1k")], [], []),
    ],
)
def test_what_waits(pools: list[dict[str, Any]], nodes: list[Any], pods: list[Any], waits: list[str]) -> None:
    found = require(devices.check(site(*pools), nodes, pods))
    assert len(found) == len(waits) and all(wait in one for wait, one in zip(waits, found)), found


def test_who_uses_what_is_named_by_namespace() -> None:
    pods = [pod("one", 1), pod("one", 1), pod("one", 1, "lab")]
    (warning,) = require(devices.check(site(pool(replicas=2)), [gpus("one", 4), node("two")], pods))
    assert warning == (
        "1 of 2 SuperNodes of pool a100 would wait for GPUs: each requests 1 x nvidia.com/gpu. "
        "one has 4, 2 used in namespace clinic, 1 used in namespace lab"
    )


def test_pods_of_the_site_itself_do_not_count() -> None:
    own = pod("one", 4, "flower")
    own["metadata"]["labels"] = {
        "app.kubernetes.io/managed-by": "federated.flower",
        "app.kubernetes.io/instance": "flower",
    }
    assert require(devices.check(site(pool(replicas=4)), [gpus("one", 4)], [own])) == []
    own["metadata"]["labels"]["app.kubernetes.io/instance"] = "another"
    assert require(devices.check(site(pool(replicas=4)), [gpus("one", 4)], [own])) != []


@pytest.mark.parametrize(
    ("init", "used"),
    [
        ([{"resources": {"limits": {GPU: "3"}}}], 3),  # the largest of those that run one after the other
        ([{"resources": {"limits": {GPU: "1"}}, "restartPolicy": "Always"}], 2),  # a sidecar runs beside
    ],
)
def test_init_containers(init: list[dict[str, Any]], used: int) -> None:
    (warning,) = require(devices.check(site(pool(replicas=4)), [gpus("one", 4)], [pod("one", 1, initContainers=init)]))
    assert f"{used} used in namespace clinic" in warning


def test_only_pods_of_nodes_with_the_resource_are_asked_for() -> None:
    nodes = [gpus("two", 1), node("one"), gpus("none", 0), node("amd", **{"amd.com_gpu": "1"})]
    assert devices.advertise(site(pool(), {"name": "cpu"}), nodes) == ["two"]
    assert devices.advertise(site({"name": "cpu"}), nodes) == []


def labelled(labels: dict[str, str], **allocatable: str) -> dict[str, Any]:
    amounts = {name.replace("__", "/"): amount for name, amount in allocatable.items()}
    return {"metadata": {"name": "one", "labels": labels}, "status": {"allocatable": {"cpu": "4", **amounts}}}


A100 = labelled({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "8", "zone": "a"}, **{"nvidia.com__gpu": "8"})
MIG = labelled({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}, **{"nvidia.com__mig-1g.10gb": "7", "nvidia.com__gpu": "0"})
AMD = labelled({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.device-id": "74a1"}, **{"amd.com__gpu": "8"})
INTEL = labelled({"gpu.intel.com/family": "Flex", "feature.node.kubernetes.io/pci-0380_8086.present": "true"}, **{"gpu.intel.com__i915": "1"})


@each_row(
    ("nodes", "gpus", "products", "groups"),
    [
        ([], {}, [], []),
        ([labelled({"zone": "a"})], {}, [], []),
        (
            [A100, A100],
            {"nvidia.com/gpu": 16},
            ["NVIDIA-A100-SXM4-80GB"],
            ["gpu_nvidia_a100_sxm4_80gb", "gpu_nvidia_com_gpu"],
        ),
        (
            [MIG],
            {"nvidia.com/mig-1g.10gb": 7},
            ["NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"],
            ["gpu_nvidia_a100_sxm4_80gb_mig_1g_10gb", "gpu_nvidia_com_mig_1g_10gb"],
        ),
        ([AMD], {"amd.com/gpu": 8}, ["74a1", "AMD_Instinct_MI300X_OAM"], ["gpu_74a1", "gpu_amd_com_gpu", "gpu_amd_instinct_mi300x_oam"]),
        ([INTEL], {"gpu.intel.com/i915": 1}, ["Flex"], ["gpu_flex", "gpu_gpu_intel_com_i915"]),
    ],
)
def test_facts(nodes: list[Any], gpus: dict[str, int], products: list[str], groups: list[str]) -> None:
    found = devices.facts(nodes)
    assert (found["gpus"], found["products"], found["groups"]) == (gpus, products, groups)


def test_only_labels_of_features_are_read() -> None:
    found = devices.facts([A100, INTEL])["labels"]
    assert set(found) == {
        "nvidia.com/gpu.product", "nvidia.com/gpu.count", "gpu.intel.com/family", "feature.node.kubernetes.io/pci-0380_8086.present",
    }  # fmt: skip
    assert devices.facts([A100], ["zone"])["labels"] == {"zone": ["a"]}


def test_a_hostile_label_makes_no_hostile_group() -> None:
    hostile = labelled({"nvidia.com/gpu.product": "{{ 7*7 }}; all:&flower_hub"})
    assert devices.facts([hostile])["groups"] == ["gpu_7_7_all_flower_hub"]
