# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of one kind of pods, and of the accelerators of their containers that compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ..base.values import Object
from .dataset_spec import Datasets
from .fields import Amounts, Env, Flag, Labels, Listed, Mapped, Number, Parsed, Text, Texts


@dataclass(frozen=True)
class Gpu(Parsed):
    """Devices of each pod.

    Attributes:
        count: how many; 0 for none. One where the others are set, and not this.
        mount_all: whether the runtime class shows the node's devices to the container, without any that the scheduler counts.
        visible_devices: which of them, in the words of NVIDIA's container runtime; empty for all.
    """

    resource: Text = "nvidia.com/gpu"
    count: Number = 1
    runtime_class: Text = ""
    mount_all: Flag = False
    visible_devices: Text = ""

    @property
    def is_used(self) -> bool:
        """Whether the container gets devices."""
        return bool(self.count) or self.mount_all

    def env(self) -> list[Object]:
        """What tells NVIDIA's container runtime which devices to show; a device plugin sets it for those that are counted."""
        if not self.mount_all:
            return []
        return [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": self.visible_devices or "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        ]

    def added_to(self, resources: Object) -> Object:
        """ResourceRequirements with the devices. Requests equal limits: the API server demands it."""
        if not self.count:
            return resources
        own = {self.resource: str(self.count)}
        return {part: dict(sorted({**resources.get(part, {}), **own}.items())) for part in ("limits", "requests")}


NO_GPU = Gpu(count=0)


def _gpu(value: Mapping[str, Any] | None) -> Gpu:
    if not value:
        return NO_GPU
    found = Gpu.parse(value)
    return replace(found, count=0) if found.mount_all else found


@dataclass(frozen=True)
class PodsSpec(Parsed):
    """Settings of one kind of pods.

    C(volume_mounts), C(datasets), C(shm_size) and C(gpu) are those of the container that computes.

    Attributes:
        lifecycle: hooks of the main container.
        pod_template: a strategic merge patch of the pod template.
    """

    image: Text = ""
    resources: Amounts = field(default_factory=dict)
    gpu: Annotated[Gpu, _gpu] = NO_GPU
    env: Env = field(default_factory=list)
    extra_args: Texts = field(default_factory=list)
    volumes: Listed = field(default_factory=list)
    volume_mounts: Listed = field(default_factory=list)
    datasets: Datasets = field(default_factory=list)
    shm_size: Text = ""
    node_selector: Labels = field(default_factory=dict)
    tolerations: Listed = field(default_factory=list)
    affinity: Mapped = field(default_factory=dict)
    topology_spread_constraints: Listed = field(default_factory=list)
    priority_class: Text = ""
    pod_labels: Labels = field(default_factory=dict)
    runtime_dependency_installation: Flag = False
    pod_annotations: Labels = field(default_factory=dict)
    init_containers: Listed = field(default_factory=list)
    extra_containers: Listed = field(default_factory=list)
    lifecycle: Mapped = field(default_factory=dict)
    pod_template: Mapped = field(default_factory=dict)

    @property
    def for_helpers(self) -> PodsSpec:
        """The same for a pod that does one thing for the collection: nothing is added to it."""
        return replace(self, topology_spread_constraints=[], init_containers=[], extra_containers=[], pod_template={})
