# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site of which only the hub knows does not set the Pod Security level of the hub's own namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import hub_reader
from ansible_collections.federated.flower.plugins.plugin_utils.sites import ocm
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row

SERVER = "https://hub.example.com:6443"
LOCAL = {"metadata": {"labels": {"local-cluster": "true"}}}
ROUTERS = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/audit": "restricted", "pod-security.kubernetes.io/warn": "restricted"}


class Hub:
    """The cluster of the hub, in whose namespace Skupper's routers run."""

    name, server = "hub", SERVER

    def __init__(self, **objects: Any) -> None:
        self.objects = {"Namespace": {"metadata": {"name": "flower", "labels": ROUTERS}}, **objects}

    def get(self, _api: str, kind: str, _name: str, _namespace: str | None = None) -> Any:
        if isinstance(found := self.objects.get(kind), Exception):
            raise found
        return found


def levels(spec: SiteSpec) -> dict[str, str]:
    (made,) = common_objects.namespace_objects(spec)
    return {name: level for name, level in made["metadata"]["labels"].items() if name.startswith(common_objects.SECURITY_LABEL)}


def site_of(make: Callable[..., SiteSpec], delivery: str, **given: Any) -> Site:
    spec = make(**{"namespace": "flower", "hub_namespace": "flower", "pod_security": "auto", **given})
    return Site("site-a", spec, access_of({"flower_delivery": delivery, "flower_key_source": "site"}), "hub", hub_namespace="flower")


def behind(site: Site, hub: Hub) -> ocm.Backend:
    way: Any = ocm.Backend(SimpleNamespace(claim=lambda *_place: ""), site)  # type: ignore[arg-type]
    way.cluster = hub
    way.detect_platform()
    way.detect_platform()  # once more, as when it is deployed after its checks
    return way


@each_row(
    ("cluster", "given", "sets"),
    [
        (LOCAL, {}, False),
        ({"metadata": {}, "spec": {"managedClusterClientConfigs": [{"url": f"{SERVER}/"}]}}, {}, False),
        (LOCAL, {"namespace": "lab"}, True),
        ({"metadata": {"labels": {"region": "eu"}}, "spec": {"managedClusterClientConfigs": [{"url": "https://other:6443"}]}}, {}, True),
        (None, {}, True),
    ],
)
def test_the_managed_cluster_that_the_hub_runs_in(
    parsed_site: Callable[..., SiteSpec], cluster: Mapping[str, Any] | None, given: dict[str, str], sets: bool
) -> None:
    for platform in ("auto", "kubernetes"):
        site = site_of(parsed_site, "ocm", platform=platform, **given)
        before = levels(site.spec)
        behind(site, Hub(ManagedCluster=cluster))
        assert levels(site.spec) == (before if sets else {}) and site.spec.platform == "kubernetes"


def test_a_level_of_its_own_is_refused_there(parsed_site: Callable[..., SiteSpec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_reader, "at_site", lambda *_given, **_more: [])
    monkeypatch.setattr(ocm.Backend, "_rehearse", lambda _way: [])
    way = behind(site_of(parsed_site, "ocm", pod_security="privileged"), Hub(ManagedCluster=LOCAL))
    with pytest.raises(ClusterError, match='supernode_pod_security: "privileged" has no effect: namespace flower is the hub\'s, too'):
        way.preflight({"pod_security": "baseline"})
    behind(site_of(parsed_site, "ocm", pod_security="baseline"), Hub(ManagedCluster=LOCAL)).preflight({"pod_security": "baseline"})
    behind(site_of(parsed_site, "ocm", pod_security="privileged"), Hub(ManagedCluster={})).preflight({})
