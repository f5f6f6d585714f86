# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a federation's part is deleted from a namespace besides its ApplySet, and why the namespace itself stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..apply import applyset
from ..base.labels import MANAGER
from ..base.names import CONTROLLER, PUBLIC_KEYS, SITE
from ..base.object_names import AUDIT_COMPONENT, SUPERLINK
from ..kube.client import Cluster
from ..kube.cluster_platform import PROJECT_API, PROJECTS
from ..manifests import datasets
from ..marks import owners, proof
from ..skupper.ownership import objects_of_others as skupper_of_others
from . import namespace_contents, namespaces

Object = dict[str, Any]
_CLAIM = "PersistentVolumeClaim"
_VOLUME = "PersistentVolume"
_POLICY = "NetworkPolicy"
_RIGHTS = "rights"  # the set of playbooks/rbac.yml
_RBAC = "rbac.authorization.k8s.io"
_WIDE = {(_RBAC, "ClusterRole"), (_RBAC, "ClusterRoleBinding")}
_TRAIL = f"app.kubernetes.io/component={AUDIT_COMPONENT}"


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
        namespace: its name.
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
