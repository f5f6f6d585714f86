# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator goes on without the Subscription that installed it, so it is removed with that; someone else's stays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import controller
from ansible_collections.federated.flower.tests.unit.rows import each_row

CSV = "skupper-operator.v2.1.1"
HOME = "openshift-operators"
SITE = {"metadata": {"name": "prod", "namespace": "someone-elses"}}


class OpenShift(Cluster):
    """A cluster with a Subscription, and what it has installed; C(csv) is when it did."""

    def __init__(self, *, ours: bool = True, record: bool = True, subscribed: bool = True, csv: str = "2026-11-01T10:00:09Z", sites: bool = False) -> None:
        self.name = "cluster"
        labels = {applyset.PART_OF: applyset.set_id(controller.NAME, HOME)} if ours else {}
        named = {"metadata": {"name": controller.PACKAGE, "namespace": HOME, "labels": labels}, "spec": {"name": controller.PACKAGE}}
        self.record = {"metadata": {"creationTimestamp": "2026-11-01T10:00:00Z"}} if record else None
        self.found = {
            "Subscription": [named] if subscribed else [],
            "ClusterServiceVersion": [{"metadata": {"name": CSV, "creationTimestamp": csv}}] if csv else [],
            "Site": [SITE] if sites else [],
        }

    def __enter__(self) -> OpenShift:
        return self

    def __exit__(self, *_error: Any) -> None:
        return None

    def get(self, _version: str, kind: str, name: str, _namespace: str | None = None) -> Any:
        return self.record if kind == "ConfigMap" else {"metadata": {"name": name}}

    def list(self, _version: str, kind: str, namespace: str | None = None, *, labels: str | None = None, fields: str | None = None) -> Any:
        assert labels == (f"operators.coreos.com/{controller.PACKAGE}.{HOME}" if kind == "ClusterServiceVersion" else None)
        return [one for one in self.found[kind] if namespace in (None, one["metadata"].get("namespace", HOME))]


def absent(site_spec: Any, cluster: OpenShift, **spec: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Remove it: what was deleted, in order, and the warnings."""
    action: Any = object.__new__(skupper.ActionModule)
    action.inventory_host = "site-x"
    action._task = SimpleNamespace(check_mode=False, diff=False)
    action.connect = lambda _host=None: cluster
    action.is_served = lambda _cluster: True
    asked: list[tuple[str, str]] = []

    def apply(_cluster: Any, objects: list[Any], **how: Any) -> None:
        asked.extend((one["kind"], one["metadata"]["name"]) for one in objects)
        asked.extend([("set", how["applyset"])] if "applyset" in how else [])

    action.apply = apply
    given = {"part": "site", "spec": {**site_spec(cluster="site-x"), "install": "operator", **spec}, "state": "uninstalled"}
    result = action.execute(action._checked(action.ARGS, {}, given, ""), {})
    return asked, result.get("warnings", [])


SET, WHOLE = ("set", controller.NAME), [("Subscription", controller.PACKAGE), ("ClusterServiceVersion", CSV), ("set", controller.NAME)]


@each_row(
    ("cluster", "removed"),
    [
        (OpenShift(), WHOLE),  # the Subscription first, or it would be installed again; the record last, or a second run would not know of it
        (OpenShift(subscribed=False), WHOLE[1:]),  # the second run
        (OpenShift(csv=""), [WHOLE[0], SET]),  # an administrator has deleted it, or never approved it
        (OpenShift(csv="2026-10-01T10:00:00Z"), [WHOLE[0], SET]),  # it was there before
        (OpenShift(ours=False, record=False), [SET]),  # someone else's
    ],
)
def test_the_operator_goes_with_its_subscription(site_spec: Any, cluster: OpenShift, removed: list[Any]) -> None:
    assert absent(site_spec, cluster) == (removed, [])


@pytest.mark.parametrize("scope", ["cluster", "namespace"])
def test_an_operator_serves_the_sites_of_all_namespaces(site_spec: Any, scope: str) -> None:
    asked, warnings = absent(site_spec, OpenShift(sites=True), scope=scope)
    assert asked == [] and "because there still are Sites: someone-elses/prod" in warnings[0]
