# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of one kind of pods, of their accelerators, and of the datasets that are mounted into containers that compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ..base.values import Object, text
from .part_spec import Amounts, Env, Flag, Labels, Listed, Mapped, Number, Parsed, Text, Texts

CLAIM, NEW_CLAIM, VOLUME, CSI = "claim", "new_claim", "volume", "csi"
SECRET, CONFIG_MAP = "secret", "config_map"
# Where the data is; each dataset has one of them. They are fields of C(Dataset).
KINDS = (CLAIM, NEW_CLAIM, VOLUME, CSI, SECRET, CONFIG_MAP)
# Kinds of volumes that a PersistentVolume can have here. A hostPath is not among them: it would put any folder of a node into pods.
VOLUME_KINDS = ("csi", "fc", "iscsi", "local", "nfs")

ONE_NODE, ONE_POD = "ReadWriteOnce", "ReadWriteOncePod"
READ_MANY, WRITE_MANY = "ReadOnlyMany", "ReadWriteMany"


@dataclass(frozen=True)
class NewClaim(Parsed):
    """A PersistentVolumeClaim to create.

    Attributes:
        storage_class: empty for the cluster's default.
    """

    size: Text = ""
    storage_class: Text = ""
    access_modes: Texts = field(default_factory=lambda: [ONE_NODE])


@dataclass(frozen=True)
class NewVolume(Parsed):
    """A PersistentVolume to create, with a claim for it.

    Attributes:
        kind: one of C(VOLUME_KINDS); C(source) is its mapping in the API.
        size: for the record: storage of these kinds exists already, and has the size that it has.
        access_modes: empty for those that follow from the dataset's C(read_only).
        node: host name of the node that a local volume is on.
    """

    kind: Text = ""
    source: Mapped = field(default_factory=dict)
    size: Text = "1Gi"
    access_modes: Texts = field(default_factory=list)
    mount_options: Texts = field(default_factory=list)
    node: Text = ""


def _new_claim(value: Mapping[str, Any] | None) -> NewClaim | None:
    return NewClaim.parse(value) if value else None


def _new_volume(value: Mapping[str, Any] | None) -> NewVolume | None:
    if not value:
        return None
    kind = next((name for name in VOLUME_KINDS if value.get(name)), "")
    return NewVolume.parse({**value, "kind": kind, "source": value.get(kind)})


@dataclass(frozen=True)
class Dataset(Parsed):
    """A dataset. Exactly one of the fields that C(KINDS) lists is set.

    Attributes:
        name: a DNS label, unique in a pool.
        claim: name of an existing PersistentVolumeClaim.
        csi: inline CSI volume (CSIVolumeSource), of a driver for ephemeral volumes.
        secret: name of an existing Secret; C(config_map): of an existing ConfigMap.
    """

    name: Text = ""
    claim: Text = ""
    new_claim: Annotated[NewClaim | None, _new_claim] = None
    volume: Annotated[NewVolume | None, _new_volume] = None
    csi: Mapped = field(default_factory=dict)
    secret: Text = ""
    config_map: Text = ""
    read_only: Flag = True

    @property
    def kind(self) -> str:
        """Which of C(KINDS) it is."""
        return next((kind for kind in KINDS if getattr(self, kind)), "")

    @property
    def is_created(self) -> bool:
        """Whether its claim is created here."""
        return self.new_claim is not None or self.volume is not None

    @property
    def claim_name(self) -> str:
        """Name of its claim; empty where it has none."""
        return f"dataset-{self.name}" if self.is_created else self.claim

    @property
    def access_modes(self) -> list[str]:
        """Access modes of a claim that is created."""
        if self.new_claim is not None:
            return self.new_claim.access_modes
        if self.volume is not None:
            return self.volume.access_modes or [READ_MANY if self.read_only else WRITE_MANY]
        return []

    @property
    def size(self) -> str:
        """Size of a claim that is created."""
        created = self.new_claim or self.volume
        return created.size if created is not None else ""


def merge_datasets(*lists: Iterable[Mapping[str, Any]] | None) -> list[Any]:
    """Lists of datasets merged by name: an entry of a later list replaces that of an earlier one. As given, sorted by name."""
    merged = {text(entry.get("name")): entry for entries in lists for entry in entries or []}
    return [merged[name] for name in sorted(merged)]


Datasets = Annotated[list[Dataset], lambda value: [Dataset.parse(entry) for entry in merge_datasets(value)]]


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
    found = Gpu.parse(value) if value else NO_GPU
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
