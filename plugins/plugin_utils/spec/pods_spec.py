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
    """

    resource: Text = "nvidia.com/gpu"
    count: Number = 1
    runtime_class: Text = ""

    def added_to(self, resources: Object) -> Object:
        """ResourceRequirements with the devices. Requests equal limits: the API server demands it."""
        if not self.count:
            return resources
        own = {self.resource: str(self.count)}
        return {part: dict(sorted({**resources.get(part, {}), **own}.items())) for part in ("limits", "requests")}


NO_GPU = Gpu(count=0)


def _gpu(value: Mapping[str, Any] | None) -> Gpu:
    return Gpu.parse(value) if value else NO_GPU


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
    def added_containers(self) -> int:
        """How many containers of the user are in a pod."""
        return len(self.init_containers) + len(self.extra_containers)

    @property
    def for_helpers(self) -> PodsSpec:
        """The same for a pod that does one thing for the collection: nothing is added to it."""
        return replace(self, topology_spread_constraints=[], init_containers=[], extra_containers=[], pod_template={})
