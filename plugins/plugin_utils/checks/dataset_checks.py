# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the datasets of a site can be mounted, judged by live objects before anything is changed. Pure.

Source of the rules: Kubernetes documentation, «Persistent Volumes» (phases, access modes, expanding claims, node affinity) and
«Storage Classes» (volume binding mode).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..apply.compare import quantity
from ..base.problems import Problem, warning
from ..base.values import Object
from ..kube.nodes import eligible, is_in
from ..manifests import datasets, patches
from ..marks import owners
from ..spec.pods_spec import ONE_NODE, ONE_POD, READ_MANY, VOLUME_KINDS, Dataset
from ..spec.site_spec import PoolSpec, SiteSpec

Live = Mapping[str, Any]


@dataclass
class Seen:
    """Live objects of a site, as far as they can be read. None is an object that does not exist; a missing key one that may not be read.

    Attributes:
        claims: name -> PersistentVolumeClaim.
        volumes: name -> PersistentVolume.
        classes: name -> StorageClass.
        has_default: whether one of them is the cluster's default; None where that is not asked, or not known.
        files: (C(Secret) or C(ConfigMap), name) -> whether it exists.
        nodes: nodes of the cluster; None where they may not be listed.
        events: name of a claim that is not bound -> what its last events say.
        is_namespace_missing: whether the namespace will be created by the deployment.
    """

    claims: dict[str, Object | None] = field(default_factory=dict)
    volumes: dict[str, Object | None] = field(default_factory=dict)
    classes: dict[str, Object | None] = field(default_factory=dict)
    has_default: bool | None = None
    files: dict[tuple[str, str], bool] = field(default_factory=dict)
    nodes: Sequence[Live] | None = None
    events: dict[str, list[str]] = field(default_factory=dict)
    is_namespace_missing: bool = False


@dataclass(frozen=True)
class Use:
    """A dataset and the pools that mount it."""

    dataset: Dataset
    pools: tuple[PoolSpec, ...]

    @property
    def name(self) -> str:
        """The dataset, as messages name it."""
        return f"dataset {self.dataset.name}"


def uses(spec: SiteSpec) -> list[Use]:
    """The datasets of all pools. Those that mount the same object in the same way are one."""
    found: dict[Any, tuple[Dataset, list[PoolSpec]]] = {}
    for pool in spec.pools:
        for one in pool.datasets:
            key = (one.name, one.kind, one.claim_name, one.secret, one.config_map, one.read_only)
            found.setdefault(key, (one, []))[1].append(pool)
    return [Use(one, tuple(pools)) for one, pools in found.values()]


def unseen(spec: SiteSpec, known: Collection[str] = (), *, why: str = "the hub cannot look into a managed cluster") -> Iterator[Problem]:
    """Objects that must exist in a cluster that cannot be asked.

    Args:
        known: names of datasets that the site's workloads mount already.
        why: the reason why nothing can be asked there.
    """
    needed = {
        f"{kind} {name}"
        for one in uses(spec)
        for kind, name in (
            ("PersistentVolumeClaim", one.dataset.claim),
            ("Secret", one.dataset.secret),
            ("ConfigMap", one.dataset.config_map),
        )
        if name and one.dataset.name not in known
    }
    if needed:
        yield warning(
            f"whether namespace {spec.namespace} has {', '.join(sorted(needed))} for its datasets is not known before the deployment: {why}. "
            "If one is missing, SuperNodes do not start, and the events of their pods say which"
        )


def several_pods(spec: SiteSpec) -> bool:
    """Whether a claim is mounted by more than one pod, so that nodes matter."""
    return any(_pods(mounting(spec, one.dataset.claim_name)) > 1 for one in uses(spec) if one.dataset.claim_name)


def mounting(spec: SiteSpec, claim: str) -> list[PoolSpec]:
    """The pools that mount a claim, by whatever dataset."""
    return [pool for pool in spec.pools if any(one.claim_name == claim for one in pool.datasets)]


def _pods(pools: Iterable[PoolSpec]) -> int:
    """How many pods the pools have; a DaemonSet counts as two, since it has one on every node."""
    return sum(2 if pool.is_daemon else pool.replicas for pool in pools)


def check(spec: SiteSpec, seen: Seen) -> Iterator[Problem]:
    """Judge all datasets of a site: whatever is wrong with them, with the object and the remedy."""
    rendered = patches.apply(datasets.objects(spec), spec.patches, partial=True)
    wanted = {(item["kind"], item["metadata"]["name"]): item for item in rendered}
    for use in uses(spec):
        one = use.dataset
        if one.secret or one.config_map:
            yield from _file(spec, use, seen)
        elif one.claim_name and one.claim_name not in seen.claims:
            yield warning(
                f"{use.name}: whether PersistentVolumeClaim {spec.namespace}/{one.claim_name} can be used is not known: it may not be read"
            )
        elif one.claim:
            yield from _existing(spec, use, seen)
        elif one.is_created:
            yield from _created(spec, use, wanted, seen)
        if one.claim_name:
            yield from _modes(spec, use, seen)


def _file(spec: SiteSpec, use: Use, seen: Seen) -> Iterator[Problem]:
    kind, name = ("Secret", use.dataset.secret) if use.dataset.secret else ("ConfigMap", use.dataset.config_map)
    there = seen.files.get((kind, name))
    what = f"{kind} {spec.namespace}/{name}"
    if there is None:
        yield warning(f"{use.name}: whether {what} exists is not known: it may not be read")
    elif not there:
        yield Problem(
            f"{use.name}: {what} does not exist: create it, or correct supernode_datasets{_namespace(spec, seen)}"
        )


def _namespace(spec: SiteSpec, seen: Seen) -> str:
    """What to do where the namespace of an object that must exist is created by the deployment."""
    if not seen.is_namespace_missing:
        return ""
    return (
        f". Namespace {spec.namespace} does not exist yet: deploy once without this dataset, or have federated.flower.rbac create the "
        "namespace, or create it yourself and set flower_create_namespace to false"
    )


def _existing(spec: SiteSpec, use: Use, seen: Seen) -> Iterator[Problem]:
    name = use.dataset.claim
    what = f"PersistentVolumeClaim {spec.namespace}/{name}"
    live = seen.claims[name]
    if live is None:
        yield Problem(
            f"{use.name}: {what} does not exist: create it, have it created (new_claim), or correct supernode_datasets"
            f"{_namespace(spec, seen)}"
        )
        return
    yield from _phase(use, what, live, seen)


def _phase(use: Use, what: str, live: Live, seen: Seen) -> Iterator[Problem]:
    """Whether a claim is bound, or will be when the first pod uses it."""
    name = live["metadata"]["name"]
    if live["metadata"].get("deletionTimestamp"):
        yield Problem(f"{use.name}: {what} is being deleted: wait until it is gone, or use another claim")
        return
    phase = (live.get("status") or {}).get("phase") or "Pending"
    if phase == "Bound":
        return
    if phase == "Lost":
        yield Problem(
            f"{use.name}: {what} has lost its volume: restore the PersistentVolume, or create the claim again"
        )
        return
    storage = (live.get("spec") or {}).get("storageClassName") or ""
    said = "".join(f". {sentence}" for sentence in seen.events.get(name, []))
    if storage in seen.classes and (seen.classes[storage] or {}).get("volumeBindingMode") == "WaitForFirstConsumer":
        if (live["metadata"].get("annotations") or {}).get("volume.kubernetes.io/selected-node"):
            yield warning(f"{use.name}: {what} is waiting for its volume on a chosen node{said}")
        return
    if storage and storage not in seen.classes:
        yield warning(
            f"{use.name}: {what} is {phase}, and whether its StorageClass {storage} waits for the first pod is not known: classes may not "
            f"be read{said}"
        )
        return
    if storage and seen.classes[storage] is None:
        why = f"and there is no StorageClass {storage}"
    else:
        why = f"and its StorageClass {storage} does not wait for a pod" if storage else "and has no StorageClass"
    yield Problem(
        f"{use.name}: {what} is {phase}, not Bound, {why}{said}. Provide a volume for it, or correct supernode_datasets"
    )


def _created(spec: SiteSpec, use: Use, wanted: Mapping[tuple[str, str], Object], seen: Seen) -> Iterator[Problem]:
    one = use.dataset
    name = one.claim_name
    desired = wanted["PersistentVolumeClaim", name]
    if one.volume is not None:
        yield from _volume(use, wanted["PersistentVolume", datasets.volume_name(spec, one)], seen)
    storage = one.new_claim.storage_class if one.new_claim is not None else ""
    what = f"PersistentVolumeClaim {spec.namespace}/{name}"
    live = seen.claims[name]
    if live is None:
        if storage and storage in seen.classes and seen.classes[storage] is None:
            yield Problem(
                f"{use.name}: there is no StorageClass {storage}: correct new_claim.storage_class of the dataset, or leave it out for "
                "the cluster's default"
            )
        if "storageClassName" not in desired["spec"] and seen.has_default is False:
            yield warning(
                f"{use.name}: the cluster has no default StorageClass, so {what} waits until someone provides a volume without a class for it, and the "
                "SuperNodes wait with it: set new_claim.storage_class of the dataset"
            )
        return
    strange = owners.foreign_object_error(desired, live)
    if strange:
        yield Problem(f"{use.name}: {what}: {strange} To use it as it is, set claim: {name} for the dataset")
        return
    yield from _immutable(use, what, desired, live)
    yield from _size(use, what, one, live, seen)
    if one.volume is None:
        yield from _phase(use, what, live, seen)


def _immutable(use: Use, what: str, desired: Live, live: Live) -> Iterator[Problem]:
    for key, option in (
        ("accessModes", "access_modes"),
        ("storageClassName", "storage_class"),
        ("volumeName", "volume"),
    ):
        if key not in desired["spec"]:
            continue
        now, then = desired["spec"][key], live["spec"].get(key)
        if key == "volumeName" and not then:
            continue
        if (sorted(now) != sorted(then or [])) if key == "accessModes" else now != (then or ""):
            yield Problem(
                f"{use.name}: {what} has the {key} {then!r}, and {now!r} is wanted; Kubernetes never changes it. Restore {option} of the "
                "dataset, or use another name for it"
            )


def _size(use: Use, what: str, one: Dataset, live: Live, seen: Seen) -> Iterator[Problem]:
    """A claim can only grow, and only where its StorageClass permits that."""
    requested = str(((live["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0")
    now, then = quantity(one.size), quantity(requested)
    if now is None or then is None or now == then:
        return
    if one.volume is not None or (live.get("status") or {}).get("phase") != "Bound":
        why = "the storage is not created here" if one.volume is not None else "the claim is not bound yet"
        way_out = "" if one.volume is not None else ", or delete the claim, which has no data yet"
        yield Problem(
            f"{use.name}: {what} has requested {requested}, and {one.size} is wanted; Kubernetes does not change it, because {why}. Set the "
            f"size to {requested}{way_out}"
        )
        return
    if now < then:
        yield Problem(
            f"{use.name}: {what} has requested {requested}, and {one.size} is wanted; a claim cannot shrink. Set the size to {requested}"
        )
        return
    storage = live["spec"].get("storageClassName") or ""
    if storage in seen.classes and not (seen.classes[storage] or {}).get("allowVolumeExpansion"):
        yield Problem(
            f"{use.name}: {what} has room for {requested}, {one.size} is wanted, and its StorageClass {storage} permits no expansion. "
            f"Set the size to {requested}, or create a dataset with another name and copy the data"
        )


def _volume(use: Use, desired: Live, seen: Seen) -> Iterator[Problem]:
    name = desired["metadata"]["name"]
    live = seen.volumes.get(name)
    if live is None:
        return
    strange = owners.foreign_object_error(desired, live)
    if strange:
        yield Problem(f"{use.name}: PersistentVolume {name}: {strange} Or use another name for the dataset")
        return
    policy = live["spec"].get("persistentVolumeReclaimPolicy")
    stays = "its data stays, since its reclaim policy is Retain"
    if policy != "Retain":
        stays = f"set its reclaim policy to Retain before, or its data may be deleted: it is {policy}"
    for key in (*VOLUME_KINDS, "nodeAffinity"):
        now, then = desired["spec"].get(key), live["spec"].get(key) or {}
        is_free = key == "nodeAffinity" and not then  # it may be set once
        if now and not is_free and any(then.get(option) != value for option, value in now.items()):
            what = "node" if key == "nodeAffinity" else key
            yield Problem(
                f"{use.name}: PersistentVolume {name} has another {what}; Kubernetes never changes it. Use another name for the dataset, or delete "
                f"PersistentVolumeClaim {use.dataset.claim_name} and this volume; {stays}"
            )
            return
    phase = (live.get("status") or {}).get("phase")
    if phase in ("Released", "Failed"):
        yield Problem(
            f"{use.name}: PersistentVolume {name} is {phase}: its former claim was deleted, and Kubernetes never binds it to another one. "
            f"Delete it (kubectl delete pv {name}); {stays}. Then run again"
        )


def _modes(spec: SiteSpec, use: Use, seen: Seen) -> Iterator[Problem]:
    """Access modes, compared with the pods and nodes that need the claim."""
    one = use.dataset
    name = one.claim_name
    live = seen.claims.get(name)
    status = (live or {}).get("status") or {}
    spec_modes = ((live or {}).get("spec") or {}).get("accessModes")
    modes = set(status.get("accessModes") or spec_modes or one.access_modes)
    if not modes:
        return
    listed = ", ".join(sorted(modes))
    what = f"{use.name}: PersistentVolumeClaim {spec.namespace}/{name} has the access mode {listed}"
    if not one.read_only and modes <= {READ_MANY}:
        yield Problem(f"{what}, and read_only is false: set it to true, or use a claim that can be written to")
    pools = mounting(spec, name)
    pods = _pods(pools)
    if pods < 2 or modes - {ONE_NODE, ONE_POD}:
        return
    count = "the pods of a DaemonSet" if any(pool.is_daemon for pool in pools) else f"{pods} pods"
    if modes == {ONE_POD}:
        yield Problem(
            f"{what}, and {count} ({_names(pools)}) need it: use a claim with ReadOnlyMany or ReadWriteMany, or one SuperNode"
        )
        return
    if seen.nodes is None:
        yield warning(
            f"{what}, and {count} ({_names(pools)}) need it: it is not known whether they run on one node, since nodes may not be listed"
        )
        return
    bound_to = str(((live or {}).get("spec") or {}).get("volumeName") or "")
    volume = seen.volumes.get(bound_to)
    possible = {
        node["metadata"]["name"]
        for pool in pools
        for node in eligible(seen.nodes, pool.node_selector, pool.tolerations, pool.affinity)
        if pool.is_daemon or reaches(volume, node)
    }
    if len(possible) < 2:
        return
    unknown = ""
    if bound_to and bound_to not in seen.volumes:
        unknown = f"its PersistentVolume {bound_to} may not be read"
    elif any(_is_gathered(pool.affinity) for pool in pools):
        unknown = f"the affinity of {_names(pools)} decides"
    if unknown:
        yield warning(
            f"{what}, and {count} ({_names(pools)}) need it: it is not known whether they run on one node, since {unknown}"
        )
    else:
        yield Problem(
            f"{what}, and {count} ({_names(pools)}) may run on {len(possible)} nodes, of which only one can mount it: use a claim "
            "with ReadOnlyMany or ReadWriteMany, one SuperNode, or a node_selector of the pool that chooses one node"
        )


def _names(pools: Sequence[PoolSpec]) -> str:
    return f"pool{'s' if len(pools) > 1 else ''} {', '.join(pool.name for pool in pools)}"


def _is_gathered(affinity: Live) -> bool:
    """Whether an affinity may restrict pods to one of several nodes: to that of other pods, or to whichever the volume is on."""
    needed = "requiredDuringSchedulingIgnoredDuringExecution"
    return any((affinity.get(kind) or {}).get(needed) for kind in ("nodeAffinity", "podAffinity"))


def reaches(volume: Live | None, node: Live) -> bool:
    """Whether a volume's node affinity permits a node; unknown affinity permits all."""
    return is_in((((volume or {}).get("spec") or {}).get("nodeAffinity") or {}).get("required"), node)
