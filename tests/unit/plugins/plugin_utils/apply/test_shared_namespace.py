# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hub and site in one namespace: its Namespace is applied by the hub only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import FIELD_MANAGER, Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.marks.proof import CREATED_FOR

RECORD = {"metadata": {"name": owners.HUB_RECORD, "namespace": "flower"}}


def live(item: dict[str, Any]) -> dict[str, Any]:
    """A Namespace as the API server has it after it was applied."""
    labels = item["metadata"]["labels"]
    notes = {CREATED_FOR: "flower"}
    fields = {"f:labels": {f"f:{key}": {} for key in labels}, "f:annotations": {f"f:{key}": {} for key in notes}}
    applied = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:metadata": fields}}
    meta = {**item["metadata"], "uid": "1", "annotations": notes, "managedFields": [applied]}
    return {**item, "metadata": meta, "status": {"phase": "Active"}}


class Place(Cluster):
    """A cluster with one namespace."""

    def __init__(self, there: dict[str, Any], record: Any) -> None:
        self.name = "cluster"
        self.there, self.record = there, record
        self.requests, self.warnings = 0, []
        self.asked: list[str] = []
        self.applied: list[dict[str, Any]] = []

    def resource(self, api_version: str, kind: str) -> Any:
        return SimpleNamespace(namespaced=False)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        self.asked.append(f"{kind} {name}")
        if kind == "Namespace":
            return self.there
        if isinstance(self.record, Exception):
            raise self.record
        return self.record

    def apply(self, obj: Any, *, dry_run: bool = False, force: bool = True) -> Any:
        self.applied.append(obj)
        return live(obj)


@pytest.fixture
def hubs(parsed_hub: Any) -> dict[str, Any]:
    """The Namespace of a hub with Skupper's router."""
    (made,) = common_objects.namespace_objects(parsed_hub(pod_security="auto", skupper=True, version="1.42.0"))
    return live(made)


@pytest.fixture
def wanted(parsed_site: Any) -> list[dict[str, Any]]:
    """What a site beside it renders."""
    return common_objects.namespace_objects(parsed_site(pod_security="auto", connectivity="direct", version="1.41.0"))


@pytest.mark.parametrize("check", [False, True])
def test_a_site_leaves_the_namespace_of_the_hub_as_it_is(hubs: dict[str, Any], wanted: list[dict[str, Any]], check: bool) -> None:
    cluster = Place(hubs, RECORD)
    result = apply_objects(cluster, wanted, part=owners.PART_SITE, check=check)
    assert cluster.applied == [] and not result.changed
    assert hubs["metadata"]["labels"][common_objects.ENFORCE] == common_objects.BASELINE


@pytest.mark.parametrize(
    ("record", "part"),
    [
        (None, owners.PART_SITE),  # the site's own namespace
        (Forbidden("cluster", "GET", 403, {}), owners.PART_SITE),
        (RECORD, owners.PART_HUB),
        (RECORD, None),
    ],
)
def test_everyone_else_applies_it(hubs: dict[str, Any], wanted: list[dict[str, Any]], record: Any, part: str | None) -> None:
    cluster = Place(hubs, record)
    assert apply_objects(cluster, wanted, part=part).changed
    assert cluster.applied[0]["metadata"]["labels"][common_objects.ENFORCE] == common_objects.RESTRICTED


def test_nothing_more_is_read_where_nothing_differs(wanted: list[dict[str, Any]]) -> None:
    cluster = Place(live(wanted[0]), None)
    assert not apply_objects(cluster, wanted, part=owners.PART_SITE).changed
    assert cluster.asked == ["Namespace flower"]
