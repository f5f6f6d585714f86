# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove what was deployed to one cluster, and report what became of its volume claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from ..apply import applyset
from ..apply.engine import apply_objects
from ..apply.wait import Waiter
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.names import PUBLIC_KEYS, SITE
from ..kube.client import Cluster
from ..marks import owners, proof
from ..site_keys import job
from . import namespace_leftovers, namespaces
from .namespace_leftovers import Removal
from .site import Done

KEPT, DELETED = "kept", "deleted"
_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"
UNKNOWN = "unknown"
_WORKLOADS = {"statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "deployments": "Deployment"}


def claims(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Claims of a namespace -> reclaim policy of the volume that each is bound to; nothing where the right to list them is missing."""
    asked = [{"verb": "list", "resource": "persistentvolumeclaims", "namespace": namespace}, {"verb": "list", "resource": "persistentvolumes"}]
    may_claims, may_volumes = cluster.access_review(asked)
    found = cluster.list("v1", _CLAIM, namespace) if may_claims else []
    volumes = cluster.list("v1", _VOLUME) if found and may_volumes else []
    policies = {one["metadata"]["name"]: str(one["spec"].get("persistentVolumeReclaimPolicy") or UNKNOWN) for one in volumes}
    return {one["metadata"]["name"]: policies.get(str(one["spec"].get("volumeName") or ""), UNKNOWN) for one in found}


def facts(namespace: str, before: Mapping[str, str], after: Collection[str], *, wanted: bool) -> list[dict[str, str]]:
    """The facts of each claim. Pure.

    Args:
        namespace: of the claims.
        before: those that were there, as C(claims) returns them.
        after: names of those that are there now.
        wanted: whether volumes were to be deleted (C(flower_delete_volumes)).
    """
    choice = "flower_delete_volumes is set" if wanted else "flower_delete_volumes is not set"
    return [
        {"change": KEPT if name in after else DELETED, "claim": f"{namespace}/{name}", "storage": policy, "choice": choice}
        for name, policy in sorted(before.items())
    ]


def remove(cluster: Cluster, wanted: Removal, *, check: bool) -> Done:
    """Delete the set; then, as wanted, secrets and records, volumes, and namespaces that nothing else needs."""
    _refuse_other(cluster, wanted)
    is_there = namespaces.live(cluster, wanted.namespace) is not None
    made_there: list[dict[str, str]] = []
    if is_there and wanted.key_source == SITE and not check:
        # The Secrets that the site created itself, as they are when Kubernetes has deleted them. No job that makes more is left.
        job.make_room(cluster, wanted.namespace, wanted.seconds)
        report = cluster.get("v1", "ConfigMap", PUBLIC_KEYS, wanted.namespace) or {"metadata": {}}
        names = [one["name"] for one in report["metadata"].get("ownerReferences") or [] if one["kind"] == "Secret"]
        made_there = [{"apiVersion": "v1", "kind": "Secret", "namespace": wanted.namespace, "name": name, "change": "deleted"} for name in names]
    before = claims(cluster, wanted.namespace) if wanted.site else {}
    absent = partial(apply_objects, cluster, state="absent", check=check, wait=True, wait_timeout=wanted.seconds)
    going = absent([], applyset=wanted.applyset, applyset_namespace=wanted.namespace).objects if is_there else []
    kept: list[str] = []
    if wanted.credentials or wanted.volumes:
        place = wanted.ca_namespace and namespaces.resolve_ca_namespace(cluster, wanted.namespace, wanted.ca_namespace)
        left = namespace_leftovers.leftovers(cluster, replace(wanted, ca_namespace=place))
        kept = left.kept
        going = going + absent(left.going).objects
        if made_there:
            _await_keys(cluster, wanted)
            going = going + made_there
    gone = [item for item in going if item["change"] == "deleted"]
    msg = f"{len(gone)} objects {'to delete' if check else 'deleted'} from {cluster.name}"
    after = claims(cluster, wanted.namespace) if before and gone else before
    volumes = facts(wanted.namespace, before, after, wanted=wanted.volumes) if gone and not check else []
    return Done(changed=bool(gone), objects=gone, volumes=volumes, warnings=[f"{cluster.name}: {one}" for one in kept], msg="; ".join((msg, *kept)))


def _await_keys(cluster: Cluster, wanted: Removal) -> None:
    """Wait until Kubernetes has deleted the Secrets of an owner that was deleted, and with the last one the ConfigMap about them."""

    def gone() -> bool:
        return namespaces.live(cluster, wanted.namespace) is None or cluster.get("v1", "ConfigMap", PUBLIC_KEYS, wanted.namespace) is None

    if not Waiter(cluster, wanted.seconds).until(gone):
        raise ClusterError(
            f"the keys that {cluster.name} created itself are still in namespace {wanted.namespace} after "
            f"{wanted.seconds} s: ConfigMap {PUBLIC_KEYS} lists them. Does the cluster's garbage collector "
            "(kube-controller-manager) run? Run again when it does, or let the site's administrators delete them."
        )


def _refuse_other(cluster: Cluster, wanted: Removal) -> None:
    """Refuse to remove what another federation or hub, or another host of this inventory deployed."""
    namespace, federation = wanted.namespace, wanted.federation
    live = None if wanted.claim else namespaces.live(cluster, namespace)
    if live is None:
        return
    record = applyset.parent_name(wanted.applyset)
    parent = cluster.get("v1", "ConfigMap", record, namespace)
    why = owners.other_deployment_error(parent, owners.deployment_notes(federation, wanted.site, wanted.identity))
    if proof.is_managed(live) and not proof.belongs(live, federation):
        why = f"namespace {namespace} {proof.holder(live)}, not to {federation}: correct flower_federation or flower_namespace."
    elif parent is None and not live["metadata"].get("deletionTimestamp") and (left := _workloads(cluster, wanted)):
        why = (
            f"ConfigMap {namespace}/{record}, the record of what is deployed, is missing, and {', '.join(left)} would stay. "
            "Run federated.flower.site, which writes it again, and then this. What others apply, such as a bundle, is deleted where it comes from."
        )
    if why:
        raise ClusterError(f"{cluster.name}: nothing is deleted: {why}")


def _workloads(cluster: Cluster, wanted: Removal) -> list[str]:
    """The part's workloads in its namespace, as far as they may be listed."""
    labels = f"{proof.MANAGED_BY}={MANAGER},{proof.INSTANCE}={wanted.federation}"
    may = cluster.access_review(
        [{"verb": "list", "group": "apps", "resource": plural, "namespace": wanted.namespace} for plural in _WORKLOADS]
    )
    kinds = [kind for kind, allowed in zip(_WORKLOADS.values(), may) if allowed]
    return [
        f"{kind} {one['metadata']['name']}"
        for kind in kinds
        for one in cluster.list("apps/v1", kind, wanted.namespace, labels=labels)
        if owners.part_of(one) == wanted.part and not one["metadata"].get("deletionTimestamp")
    ]
