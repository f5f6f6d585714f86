# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private keys go into a namespace of this federation, or nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import takeover
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import record_labels
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.recorded_run import RecordedRun

OLD = "flower-operator"


class Place(Cluster):
    """A cluster in which only some objects exist, and nothing may be written."""

    server = "https://site-a"

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.name = "site-a"
        self.objects = objects

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return next((one for one in self.list(api_version, kind, namespace) if one["metadata"]["name"] == name), None)

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return [one for one in self.objects if one["kind"] == kind and one["metadata"].get("namespace") == namespace]

    def request(self, method: str, path: str, **_more: Any) -> Any:
        raise AssertionError(f"{method} {path}")


def namespace(federation: str = "") -> dict[str, Any]:
    labels = record_labels(federation, "supernode", "namespace") if federation else {}
    return {"kind": "Namespace", "metadata": {"name": "flower", "uid": "n", "labels": labels}}


def parent(federation: str, hub: str) -> dict[str, Any]:
    notes = owners.deployment_notes(federation, "site-a", hub)
    return {"kind": "ConfigMap", "metadata": {"name": "applyset-supernode", "namespace": "flower", "uid": "p", "annotations": notes}}


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([], "there is no Federation"),
        ([namespace("demo")], "there is no Federation"),
        ([namespace("demo"), parent("demo", "new")], "there is no Federation"),
        ([namespace()], "Namespace flower: it exists already and was created by someone else"),
        ([namespace("other")], "Namespace flower: it exists already and belongs to the federation other"),
        ([namespace("demo"), parent("demo", "id-of-another-hub")], "contains the SuperNodes of the federation demo of another hub"),
    ],
)
def test_a_namespace_of_someone_else_is_refused_before_a_key_is_read(
    monkeypatch: pytest.MonkeyPatch, supernode_spec: Callable[..., dict[str, Any]], objects: list[dict[str, Any]], words: str
) -> None:
    given = supernode_spec(federation="demo", namespace="flower")
    site = Site("site-a", SiteSpec.parse(given), SiteAccess("direct", "controller", "direct"), "hub", "hub", given=given)
    action: Any = object.__new__(takeover.ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    clusters = {"site-a": Place(*objects), "hub": Place()}
    monkeypatch.setattr(action, "connect", lambda host: contextlib.nullcontext(clusters[host]), raising=False)
    monkeypatch.setattr(action, "value_of", lambda _site, name, _default: OLD if name.endswith("namespace") else "lab", raising=False)
    outcomes = Outcomes(RecordedRun(), ["site-a"], 1)
    action.work({"sites": None}, {"site-a": site}, outcomes)
    assert outcomes["site-a"].failed and words in outcomes["site-a"].msg, outcomes["site-a"].msg
