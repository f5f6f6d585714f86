# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool: a named set of equal SuperNodes in one site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ...module_utils import node_config
from ..base.values import text
from .dataset_spec import merge_datasets
from .fields import Amounts, Mapped, Number, Text, Texts, merge_env
from .part_spec import PROCESS
from .pods_spec import PodsSpec

STATEFUL_SET = "StatefulSet"
DAEMON_SET = "DaemonSet"
MODES = (STATEFUL_SET, DAEMON_SET)
SPREADS = ("none", "soft", "hard")


@dataclass(frozen=True)
class PoolSpec(PodsSpec):
    """A pool, with the site's settings filled in.

    C(image), C(resources) and C(extra_args) are those of the SuperNode; C(env) goes to SuperNode and SuperExec. The container that
    computes is the SuperExec with process isolation, else the SuperNode.

    Attributes:
        replicas: SuperNodes of a StatefulSet; 0 for a DaemonSet.
        spread: whether SuperNodes avoid each other's nodes, one of C(SPREADS).
        max_unavailable: how many are replaced at once, a number or a percentage; empty for one.
    """

    name: Text = ""
    mode: Text = STATEFUL_SET
    replicas: Number = 1
    node_config: Mapped = field(default_factory=dict)
    isolation: Text = PROCESS
    superexec_image: Text = ""
    superexec_resources: Amounts = field(default_factory=dict)
    superexec_extra_args: Texts = field(default_factory=list)
    superexec_lifecycle: Mapped = field(default_factory=dict)
    spread: Text = "none"
    max_unavailable: Text = ""
    termination_grace_period: Number = 15  # a SuperNode takes leave in less than 6 s; killed, it is refused for 60 s

    @property
    def is_daemon(self) -> bool:
        """Whether it is a DaemonSet, with one pod for each node."""
        return self.mode == DAEMON_SET

    @property
    def is_process(self) -> bool:
        """Whether a SuperExec computes."""
        return self.isolation == PROCESS

    @property
    def superexec(self) -> PodsSpec:
        """Settings of its SuperExecs."""
        image, resources, extra_args = self.superexec_image, self.superexec_resources, self.superexec_extra_args
        return replace(self, image=image, resources=resources, extra_args=extra_args, lifecycle=self.superexec_lifecycle)

    @property
    def uses_partition(self) -> bool:
        """Whether it counts across the fleet."""
        return node_config.uses(self.node_config, "{partition}")

    @property
    def needs_others_count(self) -> bool:
        """Whether it wants to know how many partitions the fleet has, and adds none: others, or a fixed number, say it."""
        counts = node_config.uses(self.node_config, "{partitions}") and not self.uses_partition
        return counts and not self.is_daemon and self.replicas > 0


OWN = ("name", "mode", "replicas", "node_config", "gpu")
# Settings of a site that a pool may have for itself.
SHARED = tuple(one.name for one in fields(PoolSpec) if one.name not in OWN)


def pool_of(site: Mapping[str, Any], pool: Mapping[str, Any]) -> PoolSpec:
    """A pool out of variables without faults: env, datasets, labels and annotations are merged with the site's, all else replaces the site's.

    Args:
        site: variables of its site.
        pool: its own variables.
    """
    merged = {key: site.get(key) for key in SHARED}
    merged.update({key: value for key, value in pool.items() if value is not None})
    if text(merged.get("mode")) == DAEMON_SET:
        merged["replicas"] = 0
    merged["env"] = merge_env(site.get("env") or [], pool.get("env") or [])
    merged["datasets"] = merge_datasets(site.get("datasets"), pool.get("datasets"))
    for key in ("pod_labels", "pod_annotations"):
        merged[key] = {**(site.get(key) or {}), **(pool.get(key) or {})}
    return PoolSpec.parse(merged)
