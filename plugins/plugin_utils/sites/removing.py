# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remove what was deployed to one cluster: its ApplySet, what else is of the federation's part, and namespaces that nothing else needs.

What became of volume claims is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..apply import applyset
from ..apply.engine import apply_objects
from ..apply.wait import Waiter
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.names import CONTROLLER, PUBLIC_KEYS, SITE
from ..base.object_names import AUDIT_COMPONENT, SCHEDULES_SET, SUPERLINK
from ..kube.client import Cluster
from ..kube.cluster_platform import PROJECT_API, PROJECTS
from ..manifests import datasets
from ..marks import owners, proof
from ..site_keys import job
from ..skupper.ownership import objects_of_others as skupper_of_others
from . import namespace_contents, namespaces
from .site import StepResult

Object = dict[str, Any]
_CLAIM = "PersistentVolumeClaim"
_VOLUME = "PersistentVolume"
_POLICY = "NetworkPolicy"
_RIGHTS = "rights"  # the set of playbooks/rbac.yml
_RBAC = "rbac.authorization.k8s.io"
_WIDE = {(_RBAC, "ClusterRole"), (_RBAC, "ClusterRoleBinding")}
_TRAIL = f"app.kubernetes.io/component={AUDIT_COMPONENT}"
KEPT, DELETED = "kept", "deleted"
UNKNOWN = "unknown"
_WORKLOADS = {"statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "deployments": "Deployment"}


@dataclass(frozen=True)
class Removal:
    """What to remove.

    Attributes:
        namespace: of the part.
        applyset: name of its set, C(superlink) or C(supernode).
        federation: the federation's name.
        site: inventory name of the site; empty for the hub.
        identity: of the hub, which the site records; empty where it is not known.
        claim: whether what another federation, hub or host deployed is removed.
        credentials: Secrets and records, too.
        volumes: volume claims, PersistentVolumes of datasets and the audit trail, too.
        ca_namespace: namespace with the CA keys, to be removed as well; empty for none.
        skupper: whether the part is in a Skupper network.
        key_source: where the keys were created.
        seconds: how long to wait until it is gone.
    """

    namespace: str
    applyset: str
    federation: str
    site: str = ""
    identity: str = ""
    claim: bool = False
    credentials: bool = False
    volumes: bool = False
    ca_namespace: str = ""
    skupper: bool = False
    key_source: str = CONTROLLER
    seconds: int = 300

    @property
    def part(self) -> str:
        """C(owners.PART_HUB) or C(owners.PART_SITE)."""
        return owners.PART_HUB if self.applyset == SUPERLINK else owners.PART_SITE


@dataclass
class Leftovers:
    """What is deleted, and what stays.

    Attributes:
        going: objects to delete.
        kept: why a namespace stays, sentences.
    """

    going: list[Object] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def remove(cluster: Cluster, wanted: Removal, *, check: bool) -> StepResult:
    """Delete the set; then, as wanted, secrets and records, volumes, and namespaces that nothing else needs."""
    _refuse_other(cluster, wanted)
    is_there = namespaces.live(cluster, wanted.namespace) is not None
    created_at_site: list[dict[str, str]] = []
    if is_there and wanted.key_source == SITE and not check:
        # The Secrets that the site created itself, as they are when Kubernetes has deleted them. No job that makes more is left.
        job.make_room(cluster, wanted.namespace, wanted.seconds)
        report = cluster.get("v1", "ConfigMap", PUBLIC_KEYS, wanted.namespace) or {"metadata": {}}
        names = [one["name"] for one in report["metadata"].get("ownerReferences") or [] if one["kind"] == "Secret"]
        created_at_site = [{"apiVersion": "v1", "kind": "Secret", "namespace": wanted.namespace, "name": name, "change": "deleted"} for name in names]
    before = claims(cluster, wanted.namespace) if wanted.site else {}
    absent = partial(apply_objects, cluster, state="absent", check=check, wait=True, wait_timeout=wanted.seconds)
    going = absent([], applyset=wanted.applyset, applyset_namespace=wanted.namespace).objects if is_there else []
    if is_there and wanted.part == owners.PART_HUB:
        going = going + absent([], applyset=SCHEDULES_SET, applyset_namespace=wanted.namespace).objects
    kept: list[str] = []
    if wanted.credentials or wanted.volumes:
        place = wanted.ca_namespace and namespaces.resolve_ca_namespace(cluster, wanted.namespace, wanted.ca_namespace)
        left = leftovers(cluster, replace(wanted, ca_namespace=place))
        kept = left.kept
        going = going + absent(left.going).objects
        if created_at_site:
            # Kubernetes deletes the Secrets of an owner that was deleted, and with the last one the ConfigMap about them.
            def gone() -> bool:
                return namespaces.live(cluster, wanted.namespace) is None or cluster.get("v1", "ConfigMap", PUBLIC_KEYS, wanted.namespace) is None

            if not Waiter(cluster, wanted.seconds).until(gone):
                raise ClusterError(
                    f"the keys that {cluster.name} created itself are still in namespace {wanted.namespace} after "
                    f"{wanted.seconds} s: ConfigMap {PUBLIC_KEYS} lists them. Check that the cluster's garbage "
                    "collector (kube-controller-manager) is running, and run again, or ask the site's administrators to delete them."
                )
            going = going + created_at_site
    deleted = [item for item in going if item["change"] == "deleted"]
    msg = f"{len(deleted)} objects {'to delete' if check else 'deleted'} from {cluster.name}"
    after = claims(cluster, wanted.namespace) if before and deleted else before
    volumes = facts(wanted.namespace, before, after, wanted=wanted.volumes) if deleted and not check else []
    return StepResult(changed=bool(deleted), objects=deleted, volumes=volumes, warnings=[f"{cluster.name}: {one}" for one in kept], msg="; ".join((msg, *kept)))


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
            "Run federated.flower.site, which recreates it, and then run this again. Delete objects that others apply, such as a bundle, at their source."
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
        before: those that were there, as C(claims) returns them.
        after: names of those that are there now.
        wanted: whether volumes were to be deleted (C(flower_delete_volumes)).
    """
    choice = "flower_delete_volumes is set" if wanted else "flower_delete_volumes is not set"
    return [
        {"change": KEPT if name in after else DELETED, "claim": f"{namespace}/{name}", "storage": policy, "choice": choice}
        for name, policy in sorted(before.items())
    ]


def leftovers(cluster: Cluster, asked: Removal) -> Leftovers:
    """List what is removed besides the set. A Namespace is deleted only as a whole: when it was created for this
    federation and contains nothing that is not to go."""
    found = Leftovers()
    users = namespaces.others(cluster, asked.namespace, asked.ca_namespace) if asked.ca_namespace else []
    for name in dict.fromkeys(filter(None, (asked.ca_namespace, asked.namespace))):
        namespace = namespaces.live(cluster, name)
        if namespace is None:
            continue
        if name != asked.namespace and users:
            found.kept.append(
                f"namespace {name} is not deleted, nor anything in it (CA keys of the hub in {', '.join(users)})"
            )
            continue
        trail = [] if asked.volumes else cluster.list("v1", "ConfigMap", name, labels=_TRAIL)
        reason = _reason_to_stay(cluster, asked, namespace, trail)
        if reason:
            found.kept.append(f"namespace {name} stays ({reason})")
            found.going += _one_by_one(cluster, asked, name, {item["metadata"]["uid"] for item in trail})
        else:
            as_project = proof.project_of(namespace) and not _may(cluster, "delete", name, "namespaces", name=name)
            found.going.append(_identity(*((PROJECT_API, "Project") if as_project else ("v1", "Namespace")), namespace))
    # PersistentVolumes of datasets, where any could be created. Their reclaim policy is Retain: the storage behind them is not touched.
    if asked.volumes and asked.part == owners.PART_SITE and _may(cluster, "list", "", "persistentvolumes"):
        labels = f"{_labels(_VOLUME, asked.federation)},{datasets.NAMESPACE_LABEL}={asked.namespace}"
        volumes = [item for item in cluster.list("v1", _VOLUME, labels=labels) if proof.may_delete(item, asked.federation)]
        if volumes:
            with_volumes(found, volumes, cluster.list("v1", _CLAIM, asked.namespace), asked.namespace)
    return found


def with_volumes(found: Leftovers, volumes: Iterable[Object], claims: Iterable[Object], namespace: str) -> None:
    """Add the PersistentVolumes of datasets to what goes. Pure.

    Kubernetes deletes a volume after its claim only: one whose claim stays would be deleted later, and be waited for until then.

    Args:
        found: what goes besides; it is changed.
        volumes: those that this collection created for claims in the namespace.
        claims: all claims in the namespace.
    """
    all_go = any(item["kind"] in ("Namespace", "Project") and item["metadata"]["name"] == namespace for item in found.going)
    going = {item["metadata"]["name"] for item in found.going if item["kind"] == _CLAIM}
    bound = {item["metadata"]["name"] for item in claims}
    going_claims: list[Object] = []
    going_volumes: list[Object] = []
    for volume in volumes:
        claim = volume["spec"].get("claimRef") or {}
        name, place = claim.get("name"), claim.get("namespace")
        if claim and (place != namespace or (name in bound and not all_go and name not in going)):
            found.kept.append(
                f"PersistentVolume {volume['metadata']['name']} stays (PersistentVolumeClaim {place}/{name}, which stays, uses it)"
            )
            continue
        if all_go and name in bound:
            # The namespace with the claims goes last.
            going_claims.append(_identity("v1", _CLAIM, {"metadata": {"name": name, "namespace": namespace}}))
        going_volumes.append(_identity("v1", _VOLUME, volume))
    found.going += going_claims + going_volumes


def _one_by_one(cluster: Cluster, asked: Removal, name: str, staying: Collection[str]) -> list[Object]:
    found = []
    at_home = name == asked.namespace
    # Where the set is, the policies belong to it.
    kinds = ["Secret", "ConfigMap"] + ([_CLAIM] if asked.volumes else []) if at_home else ["Secret", _POLICY]
    for kind in kinds:
        api = "networking.k8s.io/v1" if kind == _POLICY else "v1"
        if kind == _POLICY and not _may(cluster, "list", name, "networkpolicies", group="networking.k8s.io"):
            continue  # without policies there are no rights on them
        if kind == "Secret" and asked.key_source == SITE and not _may(cluster, "list", name, "secrets"):
            continue  # those of a site that creates its keys itself are deleted with their owner
        for item in cluster.list(api, kind, name, labels=_labels(kind, asked.federation)):
            meta = item["metadata"]
            if meta["uid"] in staying or owners.part_of(item) != asked.part:
                continue
            if applyset.ID_LABEL in meta["labels"]:
                continue  # the record of another set, which needs it to find its objects
            if asked.key_source == SITE and meta["name"] == PUBLIC_KEYS:
                continue  # deleted with the last of the Secrets that it describes
            if goes({"kind": kind, **item}, asked.federation):
                found.append(_identity(api, kind, item))
    return found


def goes(item: Object, federation: str) -> bool:
    """Whether an object that was found by its labels is deleted. Pure."""
    return namespace_contents.is_claim_of_set(item) or proof.may_delete(item, federation)


def _labels(kind: str, federation: str) -> str:
    # A StatefulSet creates its claims with the labels by which it finds its pods, and no others.
    manager = "" if kind == _CLAIM else f"{proof.MANAGED_BY}={MANAGER},"
    return f"{manager}{proof.INSTANCE}={federation}"


def _identity(api_version: str, kind: str, item: Object) -> Object:
    meta = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def _reason_to_stay(cluster: Cluster, asked: Removal, namespace: Object, trail: list[Object]) -> str:
    """Why a namespace is not deleted; empty if it is."""
    name, is_project = namespace["metadata"]["name"], bool(proof.project_of(namespace))
    if not proof.created(namespace, asked.federation):
        return "it was created by someone else"
    claims = [] if asked.volumes else cluster.list("v1", _CLAIM, name)
    foreign = skupper_of_others(cluster, name) if asked.skupper else []
    holds = [f"{len(claims)} volume claims"] * bool(claims) + ["the audit trail"] * bool(trail)
    holds += [f"{', '.join(foreign)}, created by someone else"] * bool(foreign)
    if holds:
        return " and ".join(holds)
    # With rights in namespaces only, the namespaces are kept, so that the next deployment is possible.
    if not _may(cluster, "delete", name, "namespaces", name=name) and not (
        is_project and _may(cluster, "delete", name, "projects", group=PROJECTS, name=name)
    ):
        return "the rights to delete it are missing"
    return namespace_contents.of_others(cluster, name, asked.federation, asked.part, project=is_project) or _wide_rights(cluster, asked)


def _wide_rights(cluster: Cluster, asked: Removal) -> str:
    """Why the namespaces of a part stay: rights in the whole cluster. They would outlive the accounts, and belong to anyone who creates the same
    namespace and account again. Empty if there are none, neither in the record of playbooks/rbac.yml nor applied from its file."""
    # Who may only request projects may not see one that is not there.
    record = namespaces.readable(cluster, "v1", "ConfigMap", applyset.parent_name(_RIGHTS), asked.namespace)
    kinds, _namespaces = applyset.noted(record)
    if kinds & _WIDE:
        return (
            f"ConfigMap {asked.namespace}/{applyset.parent_name(_RIGHTS)} records rights in the whole cluster: revoke them first, by "
            "federated.flower.rbac with flower_rbac_apply=true and flower_rbac_state=absent, and run again"
        )
    labels = f"app.kubernetes.io/component={_RIGHTS},{proof.INSTANCE}={asked.federation}"
    found = cluster.list(f"{_RBAC}/v1", "ClusterRoleBinding", labels=labels) if _may(cluster, "list", "", "clusterrolebindings", group=_RBAC) else []
    places = {asked.namespace, asked.ca_namespace}
    bindings = sorted(one["metadata"]["name"] for one in found if any(who.get("namespace") in places for who in one.get("subjects") or ()))
    if not bindings:
        return ""
    return (
        f"ClusterRoleBinding {', '.join(bindings)} gives its accounts rights in the whole cluster, and would outlive them: revoke the rights first, "
        f"by kubectl delete clusterrole,clusterrolebinding -l {labels}, and run again"
    )


def _may(cluster: Cluster, verb: str, namespace: str, resource: str, **more: str) -> bool:
    (allowed,) = cluster.access_review([{"verb": verb, "resource": resource, "namespace": namespace, **more}])
    return allowed
