# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects on the hub of Open Cluster Management, by which SuperNodes reach a managed cluster.

    ClusterManagementAddOn   the add-on. Its default is an empty Namespace: a cluster that a Placement adds
                             runs nothing before its keys are registered.
    AddOnTemplate            what all sites with the same settings have in common
    AddOnDeploymentConfig    its namespace
    ManagedClusterAddOn      one cluster's add-on: refers to a template and a config, so it has its own complete config
    ManifestWork             the site's own objects; belongs to the ManagedClusterAddOn and is deleted with it

Edited in place, an AddOnTemplate or AddOnDeploymentConfig changes all clusters at once, with any rollout strategy
(ocm, C(getDesiredAddOnTemplateInner)): so their names are derived from their content, and none is ever changed.

The namespace of a config is never left to its default, which would move every object to another one. It is never empty
either: the schema of 0.16 does not take that.

"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.kinds import group_of, plural_of
from ..base.labels import MANAGER, PART_OF
from ..base.names import WORKLOAD
from ..base.values import Object, compact, text
from ..manifests import common_objects
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.part_spec import PartSpec
from ..spec.site_spec import SiteSpec
from . import api

# Label of a ManagedCluster by which the Placement selects, by default.
FEDERATION_LABEL = "federated.flower/federation"
# On objects of a site: its name in the inventory.
SITE_NOTE = "federated.flower/site"
# On a workload in a ManifestWork: the digest of its content, which is reported together with its numbers.
CONTENT_NOTE = "federated.flower/content"
# On the pods of a workload in a ManifestWork: a restart cannot be requested there, but a change of their template causes one.
RESTART_NOTE = "federated.flower/restart"
# On the ManagedClusterAddOn of a site that has ClientApps in addition to its SuperNodes.
APPS_NOTE = "federated.flower/clientapp"
APPLICATION = "supernode"
# Kinds of objects that hold data, with their resources: they stay when a ManifestWork is deleted, or does not list them any more.
STORAGE = {
    "Namespace": "namespaces",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
}
# Kinds whose objects are never changed, and never pruned: a cluster may still use them.
VERSIONED = ("AddOnTemplate", "AddOnDeploymentConfig")
# Pods of a pool for which the site reports why they wait. More of them fail for the same reason.
WATCHED_PODS = 8
SHARES = ("maxConcurrency", "maxFailures")  # of a rollout: a number of clusters, or a percentage


def addon_labels(instance: Any) -> dict[str, str]:
    """Labels by which the add-on's objects are found. No version: it would change names that are derived from content."""
    return {
        "app.kubernetes.io/component": "ocm",
        "app.kubernetes.io/instance": text(instance),
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/name": APPLICATION,
        "app.kubernetes.io/part-of": PART_OF,
    }


def digest(value: Any, digits: int = 12) -> str:
    """Digest of some content."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:digits]


def _object(api_version: str, kind: str, name: str, namespace: str | None, instance: Any, spec: Object) -> Object:
    meta = {"name": name, "namespace": namespace, "labels": addon_labels(instance)}
    return {"apiVersion": api_version, "kind": kind, "metadata": compact(meta), "spec": spec}


def _versioned(kind: str, addon: str, instance: Any, spec: Object, where: str | None = None) -> Object:
    """An object whose name is derived from its content."""
    return _object(api.ADDONS, kind, f"{addon}-{digest([kind, spec, where])}", where, instance, spec)


def template(addon: str, instance: Any, manifests: Iterable[Object]) -> Object:
    """The AddOnTemplate of these manifests; a Namespace stays when the add-on is deleted, since it may contain volumes."""
    listed = [copy.deepcopy(dict(item)) for item in manifests]
    for item in listed:
        if item["kind"] == "Namespace":
            item["metadata"].setdefault("annotations", {})[api.STAYS] = ""
    spec = {"addonName": addon, "agentSpec": {"workload": {"manifests": listed}}}
    return _versioned("AddOnTemplate", addon, instance, spec)


def deployment_config(addon: str, instance: Any, where: str, target: str) -> Object:
    """The AddOnDeploymentConfig, complete: the namespace on the managed cluster, and no variables.

    Args:
        where: its own namespace on the hub.
        target: the namespace on the managed cluster.
    """
    return _versioned("AddOnDeploymentConfig", addon, instance, {"agentInstallNamespace": target}, where)


def config_reference(item: Mapping[str, Any]) -> Object:
    """How an add-on refers to a template or config."""
    resource = api.TEMPLATES_RESOURCE if item["kind"] == "AddOnTemplate" else api.CONFIGS_RESOURCE
    meta = item["metadata"]
    return compact({"group": api.ADDON_GROUP, "resource": resource, "name": meta["name"], "namespace": meta.get("namespace")})


def addon_objects(spec: AddonSpec) -> list[Object]:
    """All objects of the add-on that are no cluster's own, in the order in which they can be applied."""
    name, instance = spec.name, spec.federation
    base = template(name, instance, common_objects.namespace_objects(spec) or [_placeholder(spec, name)])
    config = deployment_config(name, instance, spec.namespace, spec.namespace)
    found = [base, config]
    if spec.bind_cluster_sets and spec.has_placements:
        found += [set_binding(spec, one) for one in spec.cluster_sets]
    if spec.install == PLACEMENTS:
        found.append(placement(spec))
    found.append(management_addon(spec, base, config))
    return found


def rollout(given: Mapping[str, Any]) -> Object:
    """A rolloutStrategy with numbers as numbers: OCM takes a text for a percentage, and with any other rolls out nothing (sdk-go, C(parseRolloutSize))."""

    def numbers(options: Mapping[str, Any]) -> Object:
        return {key: int(value) if key in SHARES and text(value).isdecimal() else value for key, value in options.items()}

    return {key: numbers(value) if isinstance(value, Mapping) else value for key, value in given.items()}


def _placeholder(spec: PartSpec, addon: str) -> Object:
    """If someone else creates the namespace, a template still needs a manifest."""
    meta = {"name": f"{addon}-addon", "namespace": spec.namespace, "labels": addon_labels(spec.federation)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}}


def management_addon(spec: AddonSpec, base: Object, config: Object) -> Object:
    """The ClusterManagementAddOn. Both kinds of configs are supported, and none is missing in the default."""
    references = [config_reference(item) for item in (base, config)]
    supported = [
        {**{key: one[key] for key in ("group", "resource")}, "defaultConfig": {key: one[key] for key in ("name", "namespace") if key in one}}
        for one in references
    ]
    strategy: Object = {"type": spec.install}
    if spec.install == PLACEMENTS:
        entry: Object = {"name": spec.placement, "namespace": spec.namespace, "configs": references}
        entry["rolloutStrategy"] = rollout(spec.rollout or {"type": "All"})
        strategy["placements"] = [entry]
    words = {"displayName": "Flower SuperNodes", "description": f"SuperNodes of the federation {spec.federation}"}
    body = {"addOnMeta": words, "supportedConfigs": supported, "installStrategy": strategy}
    return _object(api.ADDONS, "ClusterManagementAddOn", spec.name, None, spec.federation, body)


def set_binding(spec: AddonSpec, cluster_set: str) -> Object:
    """Allow the Placements of a namespace to select from a cluster set. Its name is that of the set."""
    return _object(api.SETS, "ManagedClusterSetBinding", cluster_set, spec.namespace, spec.federation, {"clusterSet": cluster_set})


def predicates(spec: AddonSpec) -> list[Object]:
    """The Placement's predicates: the user's, or clusters with the label of the federation."""
    labelled = {"labelSelector": {"matchLabels": {FEDERATION_LABEL: spec.federation}}}
    return spec.predicates or [{"requiredClusterSelector": labelled}]


def tolerations(spec: AddonSpec) -> list[Object]:
    """Tolerations of the Placement: for unreachable and unhealthy clusters, and the user's."""
    return [*({"key": key, "operator": "Exists"} for key in (api.UNREACHABLE, api.UNAVAILABLE)), *spec.tolerations]


def placement(spec: AddonSpec) -> Object:
    """The Placement. A cluster that does not report for a while keeps its SuperNodes: they may still be training."""
    body = {
        "clusterSets": spec.cluster_sets,
        "numberOfClusters": spec.number_of_clusters,
        "predicates": predicates(spec),
        "prioritizerPolicy": {"configurations": spec.prioritizers} if spec.prioritizers else None,
        "spreadPolicy": {"spreadConstraints": spec.spread} if spec.spread else None,
        "decisionStrategy": {"groupStrategy": spec.decision_groups} if spec.decision_groups else None,
        "tolerations": tolerations(spec),
    }
    return _object(api.PLACEMENTS, "Placement", spec.placement, spec.namespace, spec.federation, compact(body))


def configs(spec: SiteSpec, common: Sequence[Object]) -> list[Object]:
    """Template and config for a site.

    Args:
        common: the manifests that it shares with others, see C(ocm/delivery.py).
    """
    addon, instance = spec.ocm_addon, spec.federation
    return [
        template(addon, instance, common or [_placeholder(spec, addon)]),
        deployment_config(addon, instance, spec.hub_namespace, spec.namespace),
    ]


def managed_addon(spec: SiteSpec, references: Iterable[Object], *, apps: bool = False) -> Object:
    """The ManagedClusterAddOn: it lists all of its configs itself, so no default applies to it.

    With the strategy Placements the object itself is created by OCM; here only its configs are set.

    Args:
        apps: whether the site has ClientApps in addition to its SuperNodes, or had them and they are not removed yet.
    """
    item = _object(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, spec.ocm_cluster, spec.federation, {"configs": list(references)})
    item["metadata"]["annotations"] = {SITE_NOTE: spec.cluster, **({APPS_NOTE: WORKLOAD} if apps else {})}
    return item


def work_name(spec: SiteSpec, part: str) -> str:
    """Name of one of a site's ManifestWorks."""
    return f"{spec.ocm_addon}-{part}"


def manifest_work(
    spec: SiteSpec,
    part: str,
    manifests: Iterable[Object],
    *,
    owner: Mapping[str, Any] | None = None,
    read_only: Iterable[Object] = (),
    feedback: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
) -> Object:
    """A ManifestWork in the namespace of the site's cluster.

    It is applied there by server-side apply, as direct delivery does it, so that a change by hand is taken back. What holds data
    (C(STORAGE)) stays when it is deleted.

    Args:
        part: suffix of its name.
        owner: the live ManagedClusterAddOn, with which it is deleted.
        read_only: objects of others that are only read.
        feedback: (kind, name) -> name of a value -> JSONPath of it.

    Raises:
        ValueError: a Secret is among the manifests. The hub would store it in plain text.
    """
    item = _object(api.WORKS, "ManifestWork", work_name(spec, part), spec.ocm_cluster, spec.federation, work_spec(manifests, read_only, feedback))
    item["metadata"]["annotations"] = {SITE_NOTE: spec.cluster}
    if owner is not None:
        named = {"apiVersion": api.ADDONS, "kind": "ManagedClusterAddOn", "name": owner["metadata"]["name"]}
        item["metadata"]["ownerReferences"] = [{**named, "uid": owner["metadata"]["uid"]}]
    return item


def work_spec(
    manifests: Iterable[Object],
    read_only: Iterable[Object] = (),
    feedback: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    conditions: Mapping[tuple[str, str], Sequence[Object]] | None = None,
) -> Object:
    """The specification of a ManifestWork.

    Args:
        read_only: see C(manifest_work).
        feedback: see C(manifest_work).
        conditions: (kind, name) -> conditionRules, for a hub that supports them.

    Raises:
        ValueError: a Secret is among the manifests. The hub would store it in plain text.
    """
    listed, read = list(manifests), list(read_only)
    for item in listed:
        if item["kind"] == "Secret":
            raise ValueError(f"Secret {item['metadata']['name']} would be stored on the hub in plain text")

    def option(item: Object, strategy: Object, rules: Sequence[Object] = ()) -> Object:
        meta = item["metadata"]
        place = compact({"namespace": meta.get("namespace"), "name": meta["name"]})
        paths = [{"name": name, "path": path} for name, path in sorted((feedback or {}).get((item["kind"], meta["name"]), {}).items())]
        found = {
            "resourceIdentifier": {"group": group_of(item["apiVersion"]), "resource": plural_of(item["kind"]), **place},
            "updateStrategy": strategy,
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": paths}] if paths else None,
            "conditionRules": list(rules),
        }
        return compact(found)

    apply = {"type": "ServerSideApply", "serverSideApply": {"fieldManager": "work-agent", "force": True}}
    options = [option(item, apply, (conditions or {}).get((item["kind"], item["metadata"]["name"])) or ()) for item in listed]
    options += [option(item, {"type": "ReadOnly"}) for item in read]
    body: Object = {"workload": {"manifests": listed + read}, "manifestConfigs": options}
    orphans = [
        {"group": "", "resource": STORAGE[item["kind"]], **compact({key: item["metadata"].get(key) for key in ("name", "namespace")})}
        for item in listed
        if item["kind"] in STORAGE
    ]
    if orphans:
        body["deleteOption"] = {"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": orphans}}
    return body


def with_content(item: Object) -> Object:
    """A workload with the digest of its content, the digest itself left out, to distinguish numbers of an older one from those of this one."""
    marked = copy.deepcopy(item)
    notes = marked["metadata"].pop("annotations", None) or {}
    notes.pop(CONTENT_NOTE, None)
    if notes:
        marked["metadata"]["annotations"] = notes
    marked["metadata"]["annotations"] = {**notes, CONTENT_NOTE: digest(marked)}
    return marked


def content_of(item: Mapping[str, Any]) -> str:
    """That digest."""
    return text((item["metadata"].get("annotations") or {}).get(CONTENT_NOTE))
