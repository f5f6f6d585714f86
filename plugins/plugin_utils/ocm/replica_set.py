# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClientApps on the hub of Open Cluster Management: a ManifestWorkReplicaSet for each version, and the Placement of it.

A version is a content, named by its digest: sites with the same ClientApps share one, and none is ever changed. A cluster
has the version in its label. So the clusters move one after the other, each by its own label, and back to a previous
version in the same way. A Placement selects the clusters with its version's label that have the add-on, too: a cluster that
leaves the add-on's Placement loses the ClientApps with the SuperNodes. It requires the add-on's label, not
its value C(available), or each restart of a SuperNode would remove the ClientApps.

With C(clientapp_pace: ocm) a version is named by its content without images, new images are edited in, and OCM's own
rollout paces. That takes conditionRules, without which a rollout never leaves its first clusters (ocm,
C(clusterRolloutStatusFunc), from 1.1 on), or takes what is applied for what is ready (before).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..base.choices import OCM_PACE
from ..base.labels import CLIENTAPP_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import REPLICA_SET_DIGITS, REPLICA_SET_PREFIX
from ..base.values import Object, compact, text
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, nodes_work

# Until all pods are there in their present form, on clusters that have the present content.
_PROGRESSING = (
    "!(object.metadata.generation == object.status.?observedGeneration.orValue(0)"
    " && object.status.?updatedReplicas.orValue(0) >= object.spec.replicas"
    " && object.status.?readyReplicas.orValue(0) >= object.spec.replicas)"
)


def label(federation: Any) -> str:
    """The label of a ManagedCluster with its version. A cluster may be in several federations."""
    return f"{CLIENTAPP_LABEL}{text(federation)}"


def labels(federation: Any) -> dict[str, str]:
    """Labels by which versions are found again."""
    return {**addon_objects.addon_labels(federation), "app.kubernetes.io/component": CLIENTAPP}


def name_of(version: str) -> str:
    """Name of a version's objects."""
    return f"{REPLICA_SET_PREFIX}{version}"


def version_of(name: str) -> str:
    """The reverse."""
    return name.removeprefix(REPLICA_SET_PREFIX)


def version(spec: SiteSpec, workloads: Sequence[Object]) -> str:
    """What distinguishes these ClientApps from others.

    Args:
        workloads: all of the site's, see clientapp.py.
    """
    listed: Sequence[Any] = workloads
    if spec.clientapp_pace == OCM_PACE:
        listed = [without_images(item) for item in workloads]
    return addon_objects.digest([listed, _predicates(spec, ""), _where(spec)], REPLICA_SET_DIGITS)


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
    return [placement(spec, own), replica_set(spec, own, workloads, rules=rules)]


def replica_set(spec: SiteSpec, own: str, workloads: Sequence[Object], *, rules: bool) -> Object:
    """The ManifestWorkReplicaSet."""
    listed, watched, asked = nodes_work.watch(workloads)
    paced = spec.clientapp_pace == OCM_PACE
    conditions = {
        (item["kind"], item["metadata"]["name"]): [
            {
                "condition": "Progressing",
                "type": "CEL",
                "celExpressions": [progressing(item) if paced else _PROGRESSING],
            }
        ]
        for item in (listed if rules else ())
    }
    return {
        "apiVersion": api.REPLICA_SETS,
        "kind": "ManifestWorkReplicaSet",
        "metadata": _meta(spec, own),
        "spec": {
            "manifestWorkTemplate": addon_objects.work_spec(listed, watched, asked, conditions),
            "placementRefs": [{"name": name_of(own), "rolloutStrategy": _rollout(spec) if paced else {"type": "All"}}],
        },
    }


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


def placement(spec: SiteSpec, own: str) -> Object:
    """Which clusters have this version. It tolerates every taint: whether a cluster with one keeps the add-on, which is required, is not decided here."""
    body = {
        "clusterSets": spec.clientapp_cluster_sets,
        "predicates": _predicates(spec, own),
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": api.PLACEMENTS, "kind": "Placement", "metadata": _meta(spec, own), "spec": body}


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


def _where(spec: SiteSpec) -> list[Any]:
    """What besides its ClientApps is a version's own."""
    return [spec.hub_namespace, spec.clientapp_cluster_sets, spec.clientapp_pace]


def _meta(spec: SiteSpec, own: str) -> Object:
    return {"name": name_of(own), "namespace": spec.hub_namespace, "labels": labels(spec.federation)}
