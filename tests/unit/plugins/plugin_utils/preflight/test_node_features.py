# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes have, as facts and groups."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import node_features


def node(labels: dict[str, str], **allocatable: str) -> dict[str, Any]:
    amounts = {name.replace("__", "/"): amount for name, amount in allocatable.items()}
    return {"metadata": {"name": "one", "labels": labels}, "status": {"allocatable": {"cpu": "4", **amounts}}}


A100 = node({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "8", "zone": "a"}, **{"nvidia.com__gpu": "8"})
MIG = node({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}, **{"nvidia.com__mig-1g.10gb": "7", "nvidia.com__gpu": "0"})
AMD = node({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.device-id": "74a1"}, **{"amd.com__gpu": "8"})
INTEL = node({"gpu.intel.com/family": "Flex", "feature.node.kubernetes.io/pci-0380_8086.present": "true"}, **{"gpu.intel.com__i915": "1"})


@pytest.mark.parametrize(
    ("nodes", "gpus", "products", "groups"),
    [
        ([], {}, [], []),
        ([node({"zone": "a"})], {}, [], []),
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
    found = node_features.facts(nodes)
    assert (found["gpus"], found["products"], found["groups"]) == (gpus, products, groups)


def test_only_labels_of_features_are_read() -> None:
    found = node_features.facts([A100, INTEL])["labels"]
    assert set(found) == {
        "nvidia.com/gpu.product", "nvidia.com/gpu.count", "gpu.intel.com/family", "feature.node.kubernetes.io/pci-0380_8086.present",
    }  # fmt: skip
    assert node_features.facts([A100], ["zone"])["labels"] == {"zone": ["a"]}


def test_a_hostile_label_makes_no_hostile_group() -> None:
    hostile = node({"nvidia.com/gpu.product": "{{ 7*7 }}; all:&flower_hub"})
    assert node_features.facts([hostile])["groups"] == ["gpu_7_7_all_flower_hub"]
