# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that is too old is refused, since its pods would never start."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import kubernetes_releases
from ansible_collections.federated.flower.plugins.plugin_utils.reach.ocm import Way
from ansible_collections.federated.flower.tests.unit.specs import drafted

SIDECAR: dict[str, Any] = {}
PLAIN = {"sidecar": False, "mtls": False}
DAEMONS = {**PLAIN, "pools": [{"name": "edge", "mode": "DaemonSet"}]}


@pytest.mark.parametrize(
    ("version", "settings", "fault"),
    [
        ("v1.29.0", SIDECAR, ""),
        ("v1.34.4+k3s1", SIDECAR, ""),
        ("v1.28.15", SIDECAR, "Kubernetes v1.28.15 has no native sidecars"),
        ("v1.27.8+4fab27b", SIDECAR, "has no native sidecars"),  # OpenShift 4.14
        ("v1.28.15", PLAIN, ""),
        ("v1.27.8", PLAIN, "does not give pods their number"),
        ("v1.27.8", DAEMONS, ""),
        ("", SIDECAR, ""),
        ("v0.0.0-master+$Format:%H$", SIDECAR, ""),  # built without its version
    ],
)
def test_releases(parsed_site: Callable[..., Any], version: str, settings: dict[str, Any], fault: str) -> None:
    found = kubernetes_releases.fault(version, drafted(parsed_site(**settings)))
    assert fault in found and bool(found) is bool(fault)


def test_a_managed_cluster_that_is_too_old(parsed_site: Callable[..., Any]) -> None:
    managed = {"status": {"version": {"kubernetes": "v1.28.15"}}}
    run = SimpleNamespace(connect=lambda _host: SimpleNamespace(server="", get=lambda *_place: managed))
    site = SimpleNamespace(spec=parsed_site(platform="auto"), hub="hub", name="a", namespace="flower", hub_namespace="other")
    way = Way(run, site)  # type: ignore[arg-type]
    way.settle()
    with pytest.raises(ClusterError, match=r"v1\.28\.15 has no native sidecars"):
        way._rehearse()
