# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status as OCM's agents and controllers write it, for objects that were rendered."""

from __future__ import annotations

import copy
import json
import sys
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.kinds import plural_of
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, delivery, nodes_work
from ansible_collections.federated.flower.tests.unit import specs


@pytest.fixture
def status() -> ModuleType:
    """The functions of this file."""
    return sys.modules[__name__]


OWNER = {"metadata": {"name": "flower-supernode", "uid": "1-2-3"}}


def condition(kind: str, status: str, reason: str = "Because", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": "", **more}


def field_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"type": "Boolean", "boolean": value}
    if isinstance(value, int):
        return {"type": "Integer", "integer": value}
    return {"type": "String", "string": value}


def taken(work: dict[str, Any], values: dict[tuple[str, str], dict[str, Any]], refused: str = "") -> dict[str, Any]:
    """A ManifestWork that the agent has applied, with the values that came back."""
    live = copy.deepcopy(work)
    live["metadata"]["generation"] = 4
    told = []
    for number, item in enumerate(work["spec"]["workload"]["manifests"]):
        which = (item["kind"], item["metadata"]["name"])
        fails = refused == which[0]
        told.append(
            {
                "resourceMeta": {
                    "ordinal": number,
                    "kind": which[0],
                    "resource": plural_of(which[0]),
                    "name": which[1],
                    "namespace": item["metadata"].get("namespace", ""),
                },
                "conditions": [
                    condition("Applied", "False" if fails else "True", message="forbidden" if fails else ""),
                    condition("Available", "False" if fails else "True"),
                ],
                "statusFeedback": {
                    "values": [
                        {"name": key, "fieldValue": field_value(value)} for key, value in values.get(which, {}).items()
                    ]
                },
            }
        )
    live["status"] = {
        "conditions": [
            condition("Applied", "False" if refused else "True", observedGeneration=4),
            condition("Available", "True", observedGeneration=4),
        ],
        "resourceStatus": {"manifests": told},
    }
    return live


def nodes(spec: dict[str, Any]) -> dict[str, Any]:
    """The ManifestWork with a site's own objects."""
    return nodes_work.build(spec, own(spec), OWNER)


def own(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """A site's own objects."""
    return delivery.split(specs.supernode_objects(spec))[1]


def numbers(work: dict[str, Any], ready: int = 1, **more: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """What comes back of the StatefulSets when so many pods are ready."""
    return {
        ("StatefulSet", item["metadata"]["name"]): {
            "content": addon_objects.content_of(item),
            "generation": 2,
            "observedGeneration": 2,
            "replicas": item["spec"]["replicas"],
            "readyReplicas": ready,
            "updatedReplicas": item["spec"]["replicas"],
            "currentRevision": "r1",
            "updateRevision": "r1",
            **more,
        }
        for item in nodes_work.sets_of(work)
    }


def cluster(name: str = "cluster-a", available: str = "True", **changes: Any) -> dict[str, Any]:
    """A ManagedCluster that is accepted and has joined."""
    labels = {"cluster.open-cluster-management.io/clusterset": "default", "federated.flower/federation": "flower"}
    found: dict[str, Any] = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"hubAcceptsClient": True},
        "status": {
            "conditions": [
                condition("HubAcceptedManagedCluster", "True"),
                condition("ManagedClusterJoined", "True"),
                condition("ManagedClusterConditionAvailable", available, lastTransitionTime="2026-11-21T12:00:00Z"),
            ]
        },
    }
    found.update(changes)
    return found


def addon(references: list[dict[str, Any]], *, last: bool = True, reason: str = "Completed") -> dict[str, Any]:
    """A ManagedClusterAddOn that OCM has taken over."""
    told = []
    for one in references:
        config = {key: one[key] for key in ("name", "namespace") if key in one} | {"specHash": "x"}
        told.append({"group": one["group"], "resource": one["resource"], "desiredConfig": config})
        if last:
            told[-1]["lastAppliedConfig"] = dict(config)
    conditions = [
        condition("Progressing", "False", reason),
        condition("Available", "True"),
        condition("ManifestApplied", "True"),
    ]
    return {
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "flower-supernode", "namespace": "cluster-a", "uid": "1-2-3"},
        "spec": {"configs": references},
        "status": {"configReferences": json.loads(json.dumps(told)), "conditions": conditions},
    }


def references(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """What a site's add-on names."""
    common = delivery.split(specs.supernode_objects(spec))[0]
    return [addon_objects.config_reference(item) for item in addon_objects.configs(spec, common)]
