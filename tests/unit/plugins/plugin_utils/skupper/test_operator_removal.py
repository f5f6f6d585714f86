# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator goes on without the Subscription that installed it, so it is removed with that; someone else's stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper_controller
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import controller

CSV = "skupper-operator.v2.1.1"


class OpenShift(Cluster):
    """A cluster with a Subscription, and what it has installed."""

    def __init__(self, *, ours: bool, csv: str, there: bool = True) -> None:
        self.name = "cluster"
        labels = {applyset.PART_OF: applyset.set_id(controller.NAME, "openshift-operators")} if ours else {}
        self.subscription = {
            "metadata": {"name": "x", "namespace": "openshift-operators", "labels": labels}, "spec": {"name": controller.PACKAGE},
            "status": {"installedCSV": csv} if csv else {},
        }  # fmt: skip
        self.there = there

    def __enter__(self) -> OpenShift:
        return self

    def __exit__(self, *_error: Any) -> None:
        return None

    def get(self, _version: str, kind: str, name: str, _namespace: str | None = None) -> Any:
        return {"metadata": {"name": name}} if kind == "Namespace" or (kind == "ClusterServiceVersion" and self.there) else None

    def list(self, _version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return [self.subscription] if kind == "Subscription" and namespace == "openshift-operators" else []


@pytest.mark.parametrize(
    ("cluster", "removed"),
    [
        (OpenShift(ours=True, csv=CSV), [CSV]),
        (OpenShift(ours=True, csv=CSV, there=False), []),  # an administrator has deleted it
        (OpenShift(ours=True, csv=""), []),  # it was never approved
        (OpenShift(ours=False, csv=CSV), []),
    ],
)
def test_the_operator_goes_with_its_subscription(site_spec: Any, cluster: OpenShift, removed: list[str]) -> None:
    action: Any = object.__new__(skupper_controller.ActionModule)
    action.inventory_host = "site-x"
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect = lambda _host=None: cluster
    action.is_served = lambda _cluster: False
    asked: list[Any] = []
    action.apply = lambda _cluster, objects, **how: asked.append((how.get("applyset"), objects))
    spec = {**site_spec(cluster="site-x"), "install": "operator"}
    action.execute(action._checked(action.ARGS, {}, {"spec": spec, "state": "absent"}, ""), {})
    assert asked[0] == (controller.NAME, []), "the Subscription goes first, or it would be installed again"
    assert [(one["kind"], one["metadata"]) for _set, objects in asked[1:] for one in objects] == [
        ("ClusterServiceVersion", {"name": name, "namespace": "openshift-operators"}) for name in removed
    ]
