# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What in a namespace would be lost with it and is not the federation's: listed before the namespace is deleted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base.kinds import group_of
from ..base.labels import POOL_LABEL
from ..base.object_names import DATABASE_CLAIM, SKUPPER_LEASE, SUPERLINK
from ..kube.api_errors import ApiError, NotServed
from ..kube.client import Cluster, Resource
from ..marks import owners, proof

Object = dict[str, Any]

# Clusters put these into every namespace themselves, or for what else is in it.
_AUTOMATIC = {
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
    ("ConfigMap", "istio-ca-root-cert"),
    ("ServiceAccount", "default"),
    ("ServiceAccount", "builder"),
    ("ServiceAccount", "deployer"),
    ("RoleBinding", "system:image-pullers"),
    ("RoleBinding", "system:image-builders"),
    ("RoleBinding", "system:deployers"),
    # Routers of Skupper elect a leader by it. It has neither owner nor labels; whose the routers are, their Site shows.
    ("Lease", SKUPPER_LEASE),
}
_ADMIN = ("RoleBinding", "admin")  # of OpenShift's template for projects
# A quota of OpenShift for several projects is shown in each of them, and stored in none.
_AUTOMATIC_KINDS = frozenset(("AppliedClusterResourceQuota", "Endpoints", "Event"))
# The packages that catalogs of Operator Lifecycle Manager offer are shown in every namespace, and stored in none.
_AUTOMATIC_GROUPS = ("metrics.k8s.io/", "events.k8s.io/", "packages.operators.coreos.com/")
_COPIED_FROM = "olm.copiedFrom"  # Operator Lifecycle Manager deletes an object with this label whose original is not there
_TOKENS = ("kubernetes.io/service-account-token", "kubernetes.io/dockercfg")
_ACCOUNT = ("kubernetes.io/service-account.name", "kubernetes.io/service-account.uid")
# Of these kinds all are listed: an owner that is not is gone, and Kubernetes deletes what belonged to it alone a moment later.
_OWNERS = frozenset(("ConfigMap", "CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "Secret", "Service", "ServiceAccount", "StatefulSet"))
_CLAIM = "PersistentVolumeClaim"
_WITH_DATA = ("ConfigMap", "Secret", _CLAIM)
_SHOWN = 8
_JUDGED = ("apiVersion", "kind", "metadata", "type")  # of an object, what says whose it is: anyone can fill a namespace with large ones of many kinds


def of_others(cluster: Cluster, namespace: str, federation: str, part: str, *, project: bool = False) -> str:
    """The objects in a namespace that are not of this part of the federation, as text; empty if there are none.

    Args:
        part: C(owners.PART_HUB) or C(owners.PART_SITE).
        project: whether OpenShift created it as a project, and with it the rights of its administrator.
    """
    listed, unseen = everything(cluster, namespace)
    found = [] if unseen else others(listed, federation, part)
    return unseen or words([one for one in found if not (project and (one["kind"], one["metadata"]["name"]) == _ADMIN)], part)


def everything(cluster: Cluster, namespace: str) -> tuple[list[Object], str]:
    """All objects in a namespace, without their content, and which kinds cannot be listed, as a reason for it to stay; that is empty if all can."""
    listed: list[Object] = []
    unseen: list[str] = []
    for resource in _resources(cluster, unseen):
        try:
            listed += [{key: one[key] for key in _JUDGED if key in one} for one in cluster.list(resource.api_version, resource.kind, namespace)]
        except NotServed:
            continue
        except ApiError as error:
            unseen += [resource.plural] if error.status != 405 else []
    return listed, f"its other contents are unknown: {', '.join(sorted(unseen)[:_SHOWN])} cannot be listed" if unseen else ""


def _resources(cluster: Cluster, unseen: list[str]) -> Iterable[Resource]:
    """Every kind that is in namespaces and can be listed, once, in the version that its group prefers if that has it.

    Versions that do not answer (those of an aggregated API whose server is down) are added to C(unseen).
    """
    groups = cluster.request("GET", "/apis").get("groups") or []
    entries = [entry for group in groups for entry in (group.get("preferredVersion") or {}, *(group.get("versions") or ()))]
    seen: set[tuple[str, str]] = set()
    for version in dict.fromkeys(["v1", *(entry["groupVersion"] for entry in entries if entry.get("groupVersion"))]):
        if version.startswith(_AUTOMATIC_GROUPS):
            continue
        try:
            served = cluster.resources(version)
        except ApiError:
            unseen.append(version)
            continue
        for resource in served:
            key = (group_of(version), resource.plural)
            if resource.namespaced and "list" in resource.verbs and resource.kind not in _AUTOMATIC_KINDS and key not in seen:
                seen.add(key)
                yield resource


def others(listed: Iterable[Mapping[str, Any]], federation: str, part: str) -> list[Mapping[str, Any]]:
    """The objects that are not of this part of the federation, nor of the cluster itself, nor owned by one that is listed. Pure."""
    return strange(listed, lambda one: _is_ours(one, federation, part))


def strange(
    listed: Iterable[Mapping[str, Any]], is_ours: Callable[[Mapping[str, Any]], bool]
) -> list[Mapping[str, Any]]:
    """The objects that are neither ours, nor of the cluster itself, nor owned by one that is listed or gone. Pure.

    Args:
        is_ours: whether an object is to go.
    """
    # Some APIs show objects that have no uid.
    objects = list({one["metadata"].get("uid") or number: one for number, one in enumerate(listed)}.values())
    known = {one["metadata"].get("uid") for one in objects}

    def goes_with_others(one: Mapping[str, Any]) -> bool:
        owned_by = one["metadata"].get("ownerReferences") or []
        return any(owner["uid"] in known for owner in owned_by) or bool(owned_by and all(owner.get("kind") in _OWNERS for owner in owned_by))

    return [one for one in objects if not is_ours(one) and not _is_automatic(one) and not goes_with_others(one)]


def _is_ours(obj: Mapping[str, Any], federation: str, part: str) -> bool:
    if proof.is_adopted(obj) or owners.part_of(obj) not in ("", part):
        return False
    labels = proof.labels_of(obj)
    # The claims of a StatefulSet do not have the label of their manager, and the record of an ApplySet has no federation.
    named = proof.is_managed(obj) or is_claim_of_set(obj)
    if obj["kind"] in _WITH_DATA and proof.INSTANCE in labels and not (is_claim_of_set(obj) or proof.may_delete(obj, federation)):
        return False  # a copy, which has the labels as well
    return named and labels.get(proof.INSTANCE, federation if proof.is_managed(obj) else None) == federation


def is_claim_of_set(obj: Mapping[str, Any]) -> bool:
    """Whether a StatefulSet of this collection created a volume claim, as far as its labels and its name prove it. Pure.

    The labels are those by which the StatefulSet finds its pods; managed-by is none of them. One that is there comes from another tool.
    """
    labels, claim = proof.labels_of(obj), obj["metadata"]["name"]
    name, pool = labels.get("app.kubernetes.io/name"), labels.get(POOL_LABEL)
    if obj["kind"] != _CLAIM or proof.MANAGED_BY in labels or proof.is_adopted(obj) or labels.get("app.kubernetes.io/component") != name:
        return False
    if pool is None:
        return name == SUPERLINK and claim == DATABASE_CLAIM
    # Patches can add templates of claims to a pool.
    return owners.part_of(obj) == owners.PART_SITE and re.search(rf"-{name}-{re.escape(pool)}-\d+$", claim) is not None


def _is_automatic(obj: Mapping[str, Any]) -> bool:
    name = obj["metadata"]["name"]
    if (obj["kind"], name) in _AUTOMATIC:
        return True
    if obj["kind"] == "ClusterServiceVersion":
        return proof.labels_of(obj).get(_COPIED_FROM, "") not in ("", obj["metadata"].get("namespace"))
    # The cluster deletes them with their account, also without a reference to it.
    return obj["kind"] == "Secret" and obj.get("type") in _TOKENS and any(map(proof.annotations_of(obj).get, _ACCOUNT))


def words(found: Iterable[Mapping[str, Any]], part: str) -> str:
    """These objects, as a reason for a namespace to stay. Pure."""
    unknown, has_other_part = [], False
    for one in found:
        is_ours = proof.is_managed(one) or is_claim_of_set(one)
        if is_ours and owners.part_of(one) not in ("", part) and not proof.is_adopted(one):
            has_other_part = True
        else:
            unknown.append(f"{one['kind']} {one['metadata']['name']}")
    reasons = []
    if has_other_part:
        reasons.append(f"it also contains {'a site of a federation' if part == owners.PART_HUB else 'the hub'}")
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        reasons.append(f"it contains {', '.join(sorted(unknown)[:_SHOWN])}{more}, not known to be of this collection")
    return " and ".join(reasons)
