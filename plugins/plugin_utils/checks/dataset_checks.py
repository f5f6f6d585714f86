# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the datasets of a site can be mounted, judged by live objects before anything is changed. Pure.

Source of the rules: Kubernetes documentation, «Persistent Volumes» (phases, access modes, expanding claims, node affinity) and
«Storage Classes» (volume binding mode).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.problems import Problem, warning
from ..base.values import Object
from ..kube.nodes import eligible, is_in
from ..manifests import datasets, patches
from ..marks import owners
from ..spec.pods_spec import ONE_NODE, ONE_POD, READ_MANY, Dataset
from ..spec.site_spec import SiteSpec

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


def datasets_of(spec: SiteSpec) -> list[Dataset]:
    """The datasets of all pools. Those that mount the same object in the same way are one."""
    found: dict[Any, Dataset] = {}
    for one in (one for pool in spec.pools for one in pool.datasets):
        found.setdefault((one.name, one.kind, one.claim_name, one.secret, one.config_map, one.read_only), one)
    return list(found.values())


def unseen(spec: SiteSpec, known: Collection[str] = (), *, why: str = "the hub has no access to the managed cluster") -> Iterator[Problem]:
    """Objects that must exist in a cluster that cannot be queried.

    Args:
        known: names of datasets that the site's workloads mount already.
        why: the reason why nothing can be asked there.
    """
    kinds = {"PersistentVolumeClaim": "claim", "Secret": "secret", "ConfigMap": "config_map"}
    listed = [one for one in datasets_of(spec) if one.name not in known]
    needed = {f"{kind} {name}" for one in listed for kind, option in kinds.items() if (name := getattr(one, option))}
    if needed:
        yield warning(
            f"whether namespace {spec.namespace} has {', '.join(sorted(needed))} for its datasets is unknown before the deployment: {why}. "
            "If one is missing, SuperNodes do not start, and the events of their pods show which one"
        )


def pods_of(spec: SiteSpec, claim: str) -> int:
    """How many pods mount a claim, by whatever dataset; see C(PoolSpec.least_pods)."""
    pools = [pool for pool in spec.pools if any(one.claim_name == claim for one in pool.datasets)]
    return sum(pool.least_pods for pool in pools)


def check(spec: SiteSpec, seen: Seen) -> Iterator[Problem]:
    """Judge all datasets of a site: whatever is wrong with them, with the object and the remedy.

    What never changes in a claim or a volume, and whether a claim can grow, is said by the dry run (C(rehearsal.py)).
    """
    rendered = patches.apply(datasets.objects(spec), spec.patches, partial=True)
    wanted = {(item["kind"], item["metadata"]["name"]): item for item in rendered}
    creates = ""
    if seen.is_namespace_missing:
        creates = (
            f". Namespace {spec.namespace} does not exist yet: deploy once without this dataset, or have federated.flower.rbac create the "
            "namespace, or create it yourself and set flower_create_namespace to false"
        )
    for one in datasets_of(spec):
        lead = f"dataset {one.name}: "
        if one.secret or one.config_map:
            kind, name = ("Secret", one.secret) if one.secret else ("ConfigMap", one.config_map)
            exists = seen.files.get((kind, name))
            if exists is None:
                yield warning(f"{lead}whether {kind} {spec.namespace}/{name} exists is unknown: this identity cannot read it")
            elif not exists:
                yield Problem(f"{lead}{kind} {spec.namespace}/{name} does not exist: create it, or correct supernode_datasets{creates}")
        if not one.claim_name:
            continue
        what = f"{lead}PersistentVolumeClaim {spec.namespace}/{one.claim_name}"
        claim = seen.claims.get(one.claim_name)
        if one.claim_name not in seen.claims:
            yield warning(f"{lead}whether PersistentVolumeClaim {spec.namespace}/{one.claim_name} can be used is unknown: this identity cannot read it")
        elif one.is_created:
            if one.volume is not None:
                yield from _volume(lead, wanted["PersistentVolume", datasets.volume_name(spec, one)], seen)
            yield from _created(lead, what, one, wanted["PersistentVolumeClaim", one.claim_name], seen)
        elif claim is None:
            yield Problem(f"{what} does not exist: create it, have it created (new_claim), or correct supernode_datasets{creates}")
        else:
            yield from _phase(what, claim, seen)
        yield from _modes(spec, what, one, seen)


def _created(lead: str, what: str, one: Dataset, desired: Live, seen: Seen) -> Iterator[Problem]:
    """A claim that is created, or was created before."""
    storage = one.new_claim.storage_class if one.new_claim is not None else ""
    live = seen.claims[one.claim_name]
    if live is not None:
        if strange := owners.foreign_object_error(desired, live):
            yield Problem(f"{what}: {strange} To use it as it is, set claim: {one.claim_name} for the dataset")
        elif one.volume is None:
            yield from _phase(what, live, seen)
    elif storage and seen.classes.get(storage, {}) is None:
        yield Problem(
            f"{lead}there is no StorageClass {storage}: correct new_claim.storage_class of the dataset, or remove it to use the cluster's default"
        )
    elif "storageClassName" not in desired["spec"] and seen.has_default is False:
        yield warning(
            f"{lead}the cluster has no default StorageClass, so {what.removeprefix(lead)} waits until someone provides a volume without a class for it, "
            "and the SuperNodes wait with it: set new_claim.storage_class of the dataset"
        )


def _phase(what: str, live: Live, seen: Seen) -> Iterator[Problem]:
    """Whether a claim is bound, or will be when the first pod uses it."""
    meta, phase = live["metadata"], (live.get("status") or {}).get("phase") or "Pending"
    storage = (live.get("spec") or {}).get("storageClassName") or ""
    events = "".join(f". {sentence}" for sentence in seen.events.get(meta["name"], []))
    if meta.get("deletionTimestamp"):
        yield Problem(f"{what} is being deleted: wait until the deletion is complete, or use another claim")
    elif phase == "Lost":
        yield Problem(f"{what} has lost its volume: restore the PersistentVolume, or create the claim again")
    elif phase == "Bound":
        return
    elif storage and storage not in seen.classes:
        yield warning(
            f"{what} is {phase}, and whether its StorageClass {storage} waits for the first pod is unknown: this identity cannot read StorageClasses{events}"
        )
    elif storage and (seen.classes[storage] or {}).get("volumeBindingMode") == "WaitForFirstConsumer":
        if (meta.get("annotations") or {}).get("volume.kubernetes.io/selected-node"):
            yield warning(f"{what} is waiting for its volume on a chosen node{events}")
    else:
        why = f"and its StorageClass {storage} does not wait for a pod" if storage else "and has no StorageClass"
        if storage and seen.classes[storage] is None:
            why = f"and there is no StorageClass {storage}"
        yield Problem(f"{what} is {phase}, not Bound, {why}{events}. Provide a volume for it, or correct supernode_datasets")


def _volume(lead: str, desired: Live, seen: Seen) -> Iterator[Problem]:
    """A PersistentVolume that was created before."""
    name = desired["metadata"]["name"]
    live = seen.volumes.get(name)
    if live is None:
        return
    phase, policy = (live.get("status") or {}).get("phase"), live["spec"].get("persistentVolumeReclaimPolicy")
    if strange := owners.foreign_object_error(desired, live):
        yield Problem(f"{lead}PersistentVolume {name}: {strange} Or use another name for the dataset")
    elif phase in ("Released", "Failed"):
        stays = "its data stays, since its reclaim policy is Retain"
        if policy != "Retain":
            stays = f"set its reclaim policy to Retain before, or its data may be deleted: it is {policy}"
        yield Problem(
            f"{lead}PersistentVolume {name} is {phase}: its former claim was deleted, and Kubernetes never binds it to another one. "
            f"Delete it (kubectl delete pv {name}); {stays}. Then run again"
        )


def _modes(spec: SiteSpec, what: str, one: Dataset, seen: Seen) -> Iterator[Problem]:
    """Access modes, compared with the pods and nodes that need the claim."""
    live = seen.claims.get(one.claim_name) or {}
    body = live.get("spec") or {}
    modes = set((live.get("status") or {}).get("accessModes") or body.get("accessModes") or one.access_modes)
    if not modes:
        return
    what = f"{what} has the access mode {', '.join(sorted(modes))}"
    if not one.read_only and modes <= {READ_MANY}:
        yield Problem(f"{what}, and read_only is false: set it to true, or use a claim that can be written to")
    pods = pods_of(spec, one.claim_name)
    if pods < 2 or modes - {ONE_NODE, ONE_POD}:
        return
    pools = [pool for pool in spec.pools if any(other.claim_name == one.claim_name for other in pool.datasets)]
    names = f"pool{'s' if len(pools) > 1 else ''} {', '.join(pool.name for pool in pools)}"
    need = f"{what}, and {'the pods of a DaemonSet' if any(pool.is_daemon for pool in pools) else f'{pods} pods'} ({names})"
    if modes == {ONE_POD}:
        yield Problem(f"{need} need it: use a claim with ReadOnlyMany or ReadWriteMany, or one SuperNode")
        return
    if seen.nodes is None:
        yield warning(f"{need} need it: cannot determine whether they run on one node, because this identity cannot list nodes")
        return
    bound_to = str(body.get("volumeName") or "")
    # A volume whose affinity is not known permits all nodes.
    affinity = (((seen.volumes.get(bound_to) or {}).get("spec") or {}).get("nodeAffinity") or {}).get("required")
    possible = {
        node["metadata"]["name"]
        for pool in pools
        for node in eligible(seen.nodes, pool.node_selector, pool.tolerations, pool.affinity)
        if pool.is_daemon or is_in(affinity, node)
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if len(possible) < 2:
        return
    if bound_to and bound_to not in seen.volumes:
        yield warning(f"{need} need it: cannot determine whether they run on one node, because this identity cannot read its PersistentVolume {bound_to}")
    elif any((pool.affinity.get(kind) or {}).get(required) for pool in pools for kind in ("nodeAffinity", "podAffinity")):
        yield warning(f"{need} need it: cannot determine whether they run on one node: it depends on the affinity of {names}")
    else:
        yield Problem(
            f"{need} may run on {len(possible)} nodes, of which only one can mount it: use a claim "
            "with ReadOnlyMany or ReadWriteMany, one SuperNode, or a node_selector of the pool that chooses one node"
        )
