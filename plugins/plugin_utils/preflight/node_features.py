# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs and feature labels of a site's nodes, as facts of its host. Pure functions on live Node objects.

Kubelets and the administrators of nodes write them: they are data of the site, and are never evaluated.

Source of the labels: NVIDIA's GPU feature discovery (nvidia.com/gpu.product), AMD's node labeller (amd.com/gpu.product-name,
amd.com/gpu.device-id), Intel's GPU plugin (gpu.intel.com/product, gpu.intel.com/family) and Node Feature Discovery
(feature.node.kubernetes.io/pci-CLASS_VENDOR.present).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..apply.compare import quantity

Live = Mapping[str, Any]

#: Labels that are read; C(*) matches any text.
LABELS = (
    "nvidia.com/*",
    "amd.com/gpu.*",
    "beta.amd.com/gpu.*",
    "gpu.intel.com/*",
    "feature.node.kubernetes.io/pci-*",
)
_PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "amd.com/gpu.device-id",
    "gpu.intel.com/product",
    "gpu.intel.com/family",
)
_VENDORS = ("nvidia.com/", "amd.com/", "gpu.intel.com/")
_NO_NAME = re.compile(r"[^a-z0-9]+")


def facts(nodes: Sequence[Live], patterns: Sequence[str] = LABELS) -> dict[str, Any]:
    """What a site has.

    Args:
        nodes: all nodes of its cluster.
        patterns: of the labels to read.

    Returns:
        C(gpus), allocatable devices of all nodes by resource; C(products), names of GPUs; C(labels), values by label; C(groups), names of
        groups of an inventory for products and resources.
    """
    labels: dict[str, set[str]] = {}
    gpus: dict[str, int] = {}
    for node in nodes:
        for name, value in (node["metadata"].get("labels") or {}).items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                labels.setdefault(name, set()).add(str(value))
        for resource, amount in ((node.get("status") or {}).get("allocatable") or {}).items():
            if resource.startswith(_VENDORS) and (count := int(quantity(str(amount)) or 0)):
                gpus[resource] = gpus.get(resource, 0) + count
    products = sorted({value for name in _PRODUCTS for value in _values(nodes, name)})
    return {
        "gpus": dict(sorted(gpus.items())),
        "products": products,
        "labels": {name: sorted(values) for name, values in sorted(labels.items())},
        "groups": sorted({f"gpu_{group_name(one)}" for one in (*products, *gpus)}),
    }


def _values(nodes: Iterable[Live], label: str) -> set[str]:
    return {str(value) for node in nodes if (value := (node["metadata"].get("labels") or {}).get(label))}


def group_name(text: str) -> str:
    """A text as a part of the name of a group."""
    return _NO_NAME.sub("_", text.lower()).strip("_")
