# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Datasets of a pool: volumes, mounts and environment of the container that computes, and the claims that are created for them.

One rule for paths: the dataset C(NAME) is the folder C(/data/NAME). Apps read it from C(FLOWER_DATASET_NAME) (upper case, C(_) for C(-)), and
the names of all datasets, with commas, from C(FLOWER_DATASETS).

Pod Security "restricted" permits neither NFS nor other storage of the network in a pod, only claims, inline CSI volumes, Secrets and
ConfigMaps (Kubernetes documentation, «Pod Security Standards», volume types). So such storage gets a PersistentVolume and a claim.
"""

from __future__ import annotations

import hashlib

from ..base.object_names import DATASET_VOLUME_PREFIX, dataset_path
from ..base.values import Object, compact
from ..spec.pods_spec import Dataset, NewVolume, PodsSpec
from ..spec.site_spec import SiteSpec
from .common_objects import api_object
from .pod import AppParts, config_volume, mount, secret_volume

LIST_VARIABLE, VARIABLE = "FLOWER_DATASETS", "FLOWER_DATASET_"
# On claims and volumes that are created for a dataset: its name. On volumes, the namespace of the claim, too.
LABEL, NAMESPACE_LABEL = "federated.flower/dataset", "federated.flower/namespace"
_APPLICATION, _COMPONENT = "supernode", "dataset"
_HOST_NAME = "kubernetes.io/hostname"
_MAX_NAME = 253


def variable_of(name: str) -> str:
    """Environment variable with that path. Names are DNS labels, so no two of them have the same variable."""
    return VARIABLE + name.upper().replace("-", "_")


def paths(pods: PodsSpec) -> dict[str, str]:
    """Name -> path of the datasets."""
    return {one.name: dataset_path(one.name) for one in pods.datasets}


def parts(pods: PodsSpec) -> AppParts:
    """What the container that computes has of them, and its pod: variables that say where they are, mounts and volumes; nothing without datasets."""
    if not pods.datasets:
        return AppParts()
    listed = {"name": LIST_VARIABLE, "value": ",".join(paths(pods))}
    return AppParts(
        [listed, *({"name": variable_of(name), "value": path} for name, path in paths(pods).items())],
        [mount(DATASET_VOLUME_PREFIX + one.name, dataset_path(one.name), read_only=one.read_only) for one in pods.datasets],
        [_volume(one) for one in pods.datasets],
    )


def _volume(one: Dataset) -> Object:
    name = DATASET_VOLUME_PREFIX + one.name
    if one.secret:
        return secret_volume(name, one.secret)
    if one.config_map:
        return config_volume(name, one.config_map)
    if one.csi:
        return {"name": name, "csi": {**one.csi, "readOnly": one.read_only}}
    # Not of the mount alone: the kubelet would change owner and mode of the data to fsGroup.
    source = {"claimName": one.claim_name, **({"readOnly": True} if one.read_only else {})}
    return {"name": name, "persistentVolumeClaim": source}


def created(spec: SiteSpec) -> list[Dataset]:
    """The datasets of all pools whose claims are created here, each once, by name."""
    found = {one.name: one for pool in spec.pools for one in pool.datasets if one.is_created}
    return [found[name] for name in sorted(found)]


def objects(spec: SiteSpec) -> list[Object]:
    """Claims, and PersistentVolumes of storage that exists outside the cluster."""
    rendered: list[Object] = []
    for one in created(spec):
        if one.volume is not None:
            rendered.append(_persistent_volume(spec, one, one.volume))
        rendered.append(_claim(spec, one))
    return rendered


def volume_name(spec: SiteSpec, one: Dataset) -> str:
    """Name of a dataset's PersistentVolume.

    It starts with federation and namespace, so that it is unique in the cluster as a rule. Two pairs of them may differ only in the place of
    a hyphen: the preflight then refuses the second one, which needs another name for the dataset.
    """
    name = f"{spec.federation}-{spec.namespace}-{one.claim_name}"
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - 13]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _claim(spec: SiteSpec, one: Dataset) -> Object:
    body: Object = {"accessModes": list(one.access_modes), "resources": {"requests": {"storage": one.size}}}
    if one.volume is not None:
        # An empty class, so that no provisioner creates another volume.
        body |= {"storageClassName": "", "volumeName": volume_name(spec, one)}
    elif one.new_claim is not None and one.new_claim.storage_class:
        body["storageClassName"] = one.new_claim.storage_class
    fields = {"spec": dict(sorted(body.items()))}
    return api_object(spec, "v1/PersistentVolumeClaim", one.claim_name, _APPLICATION, fields, _COMPONENT, extra_labels={LABEL: one.name})


def _persistent_volume(spec: SiteSpec, one: Dataset, volume: NewVolume) -> Object:
    term = {"matchExpressions": [{"key": _HOST_NAME, "operator": "In", "values": [volume.node]}]}
    body: Object = {
        "accessModes": list(one.access_modes),
        "capacity": {"storage": one.size},
        # No other claim gets it.
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": one.claim_name, "namespace": spec.namespace},
        "mountOptions": volume.mount_options,
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}} if volume.node else None,
        # The data was there before, and stays.
        "persistentVolumeReclaimPolicy": "Retain",
        volume.kind: volume.source,
    }
    own = {LABEL: one.name, NAMESPACE_LABEL: spec.namespace}
    fields = {"spec": compact(body)}
    return api_object(
        spec, "v1/PersistentVolume", volume_name(spec, one), _APPLICATION, fields, _COMPONENT, extra_labels=own, namespaced=False
    )
