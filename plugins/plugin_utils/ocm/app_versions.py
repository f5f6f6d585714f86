# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of ClientApps on the hub: a ManifestWorkReplicaSet and a Placement for each; and versions that nothing refers to. Pure.

A version is a content, named by its digest: sites with the same ClientApps share one, and none is ever changed. A cluster
has the version in its label. So the clusters move one after the other, each by its own label, and back to a previous
version in the same way. A Placement selects the clusters with its version's label that have the add-on, too: a cluster that
leaves the add-on's Placement loses the ClientApps with the SuperNodes. It requires the add-on's label, not
its value C(available), or each restart of a SuperNode would remove the ClientApps.

With C(clientapp_pace: ocm) a version is named by its content without images, new images are edited in, and OCM's own
rollout paces. That takes conditionRules, without which a rollout never leaves its first clusters (ocm,
C(clusterRolloutStatusFunc), from 1.1 on), or takes what is applied for what is ready (before).

None is ever changed, so each change of settings leaves one behind. One that some cluster still has (in
C(status.configReferences)) stays: OCM renders it again and again, and a rollback finds it.

A change takes the former version out of the files for a GitOps controller before the sites leave it. So the controller must not delete
it then, and must not be in the way when this collection does (C(lasting)).

Sources: Argo CD documentation, «Sync Options», «No Prune Resources», and «Compare Options», «Ignoring Resources That Are Extraneous»;
Flux documentation, «Kustomization», «Garbage collection».
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..apply import field_conflicts
from ..base.labels import CLIENTAPP_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import OCM_PACE, REPLICA_SET_DIGITS, REPLICA_SET_PREFIX
from ..base.values import Object, compact, text
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, nodes_work

# Until all pods are there in their present form, on clusters that have the present content.
_PROGRESSING = (
    "!(object.metadata.generation == object.status.?observedGeneration.orValue(0)"
    " && object.status.?updatedReplicas.orValue(0) >= object.spec.replicas"
    " && object.status.?readyReplicas.orValue(0) >= object.spec.replicas)"
)

# That a version stays when it leaves the repository, does not count as a difference there, and is not given back to its controller.
_LASTS = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false",
    field_conflicts.TAKE_FROM: "argocd-application-controller,argocd-controller,kustomize-controller",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


def label(federation: Any) -> str:
    """The label of a ManagedCluster with its version. A cluster may be in several federations."""
    return f"{CLIENTAPP_LABEL}{text(federation)}"


def labels(federation: Any) -> dict[str, str]:
    """Labels by which versions are found again."""
    return {**addon_objects.addon_labels(federation), "app.kubernetes.io/component": CLIENTAPP}


def name_of(version: str) -> str:
    """Name of a version's objects."""
    return f"{REPLICA_SET_PREFIX}{version}"


def version(spec: SiteSpec, workloads: Sequence[Object]) -> str:
    """What distinguishes these ClientApps from others.

    Args:
        workloads: all of the site's, see clientapp.py.
    """
    listed: Sequence[Any] = workloads
    if spec.clientapp_pace == OCM_PACE:
        listed = [without_images(item) for item in workloads]
    # What besides its ClientApps is a version's own.
    place = [spec.hub_namespace, spec.clientapp_cluster_sets, spec.clientapp_pace]
    return addon_objects.digest([listed, _predicates(spec, ""), place], REPLICA_SET_DIGITS)


def without_images(item: Object) -> Object:
    """A workload without what a new release of the app changes."""
    bare = copy.deepcopy(item)
    for meta in (bare["metadata"], bare["spec"]["template"]["metadata"]):
        meta["labels"].pop("app.kubernetes.io/version", None)
    pods = bare["spec"]["template"]["spec"]
    for container in [*pods["containers"], *pods.get("initContainers", [])]:
        container.pop("image")
    return bare


def objects(spec: SiteSpec, workloads: Sequence[Object], *, rules: bool) -> list[Object]:
    """Placement and ManifestWorkReplicaSet of a site's version, in the order in which they can be applied.

    Args:
        rules: whether the hub supports conditionRules.
    """
    own = version(spec, workloads)
    listed, watched, asked = nodes_work.watch(workloads)
    paced = spec.clientapp_pace == OCM_PACE
    conditions = {
        (item["kind"], item["metadata"]["name"]): [
            {"condition": "Progressing", "type": "CEL", "celExpressions": [progressing(item) if paced else _PROGRESSING]}
        ]
        for item in (listed if rules else ())
    }
    # It tolerates every taint: whether a cluster with one keeps the add-on, which is required, is not decided here.
    selection = {"clusterSets": spec.clientapp_cluster_sets, "predicates": _predicates(spec, own), "tolerations": [{"operator": "Exists"}]}
    work = {
        "manifestWorkTemplate": addon_objects.work_spec(listed, watched, asked, conditions),
        "placementRefs": [{"name": name_of(own), "rolloutStrategy": _rollout(spec) if paced else {"type": "All"}}],
    }
    meta = {"name": name_of(own), "namespace": spec.hub_namespace, "labels": labels(spec.federation)}
    bodies = ((api.PLACEMENTS, "Placement", selection), (api.REPLICA_SETS, "ManifestWorkReplicaSet", work))
    return [{"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": body} for api_version, kind, body in bodies]


def _rollout(spec: SiteSpec) -> Object:
    """One cluster at a time unless said otherwise: without C(maxConcurrency) OCM takes all clusters at once (sdk-go, C(calculateRolloutSize))."""
    given = addon_objects.rollout(spec.clientapp_rollout or {"type": "Progressive"})
    if given["type"] == "Progressive":
        given["progressive"] = {"maxConcurrency": 1, **compact(given.get("progressive") or {})}
    return given


def progressing(item: Object) -> str:
    """The rule by which a workload is still progressing where new images are edited in.

    An agent may judge the new generation of a ManifestWork while the cluster still has the previous StatefulSet, all of whose pods are
    ready (ocm issue 1237). So the rule requires the new content.
    """
    have = f"object.metadata.?annotations[?'{addon_objects.CONTENT_NOTE}'].orValue('')"
    return f"{have} != '{addon_objects.content_of(item)}' || {_PROGRESSING}"


def _predicates(spec: SiteSpec, own: str) -> list[Object]:
    """The user's predicates, each with the version's label and the add-on."""
    found = []
    for one in spec.clientapp_predicates or [{}]:
        chosen = copy.deepcopy(dict(one.get("requiredClusterSelector") or {}))
        asked = dict(chosen.get("labelSelector") or {})
        has_addon = {"key": f"{api.ADDON_LABEL}{spec.ocm_addon}", "operator": "Exists"}
        chosen["labelSelector"] = {
            "matchLabels": {**(asked.get("matchLabels") or {}), label(spec.federation): own},
            "matchExpressions": [*(asked.get("matchExpressions") or []), has_addon],
        }
        found.append({"requiredClusterSelector": chosen})
    return found


def kept_by_gitops(item: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a GitOps controller may have it: if it is a version, one that only this collection deletes."""
    if item["kind"] not in addon_objects.VERSIONED:
        return dict(item)
    meta = item["metadata"]
    return {**item, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **_LASTS}}}


def addon_names(versions: Iterable[Mapping[str, Any]], own: str) -> list[str]:
    """Names of the add-ons whose clusters may have one of these objects: a federation may have had its add-on under another name.

    Args:
        versions: AddOnTemplates and AddOnDeploymentConfigs that this collection created for one federation.
        own: name of its add-on.
    """
    return sorted({own} | {item["spec"]["addonName"] for item in versions if item["kind"] == "AddOnTemplate"})


def unused_apps(sets: Iterable[Mapping[str, Any]], clusters: Iterable[Mapping[str, Any]], label: str) -> list[dict[str, Any]]:
    """ManifestWorkReplicaSets and their Placements to which no cluster's label refers, as a list for C(apply) with C(state=absent).

    Args:
        sets: ManifestWorkReplicaSets that this collection created for one federation.
        clusters: ManagedClusters with its label.
        label: key of that label.
    """
    used = {name_of(one["metadata"]["labels"][label]) for one in clusters}
    return [
        {"apiVersion": version, "kind": kind, "metadata": {key: item["metadata"][key] for key in ("name", "namespace")}}
        for item in sets
        if item["metadata"]["name"] not in used
        for version, kind in ((api.REPLICA_SETS, "ManifestWorkReplicaSet"), (api.PLACEMENTS, "Placement"))
    ]


def _references(part: Any, resource: str = "") -> Iterator[tuple[str, str, str]]:
    """(Resource, namespace, name) of all configs that a part of an add-on lists, wants, has or had: each is in or below an entry with its C(resource)."""
    if isinstance(part, Mapping):
        resource = part.get("resource") or resource
        if resource and part.get("name"):
            yield resource, part.get("namespace") or "", part["name"]
    for each in part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ():
        yield from _references(each, resource)


def unused(
    versions: Iterable[Mapping[str, Any]], managements: Iterable[Mapping[str, Any]], clusters: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Objects to delete, as a list for C(apply) with C(state=absent).

    Args:
        versions: AddOnTemplates and AddOnDeploymentConfigs that this collection created for one federation.
        managements: ClusterManagementAddOns that may refer to them.
        clusters: ManagedClusterAddOns that may refer to them, of all clusters.
    """
    used = {reference for one in (*managements, *clusters) for reference in _references(one)}
    left = []
    for item in versions:
        reference = addon_objects.config_reference(item)
        if (reference["resource"], reference.get("namespace") or "", reference["name"]) not in used:
            meta = {key: item["metadata"][key] for key in ("name", "namespace") if item["metadata"].get(key)}
            left.append({"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": meta})
    return left
