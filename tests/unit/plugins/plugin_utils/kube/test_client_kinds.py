# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that somebody installs while a connection is open."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster

API = "skupper.io/v2alpha1"


class Growing(Cluster):
    """An API server that gets definitions."""

    def __init__(self) -> None:
        self.name, self._kinds = "hub", {}
        self.served: list[str] = []
        self.asked = 0

    def request(self, method: str, path: str, **_more: Any) -> dict[str, Any]:
        self.asked += 1
        if not self.served:
            raise NotFound("hub", f"{method} {path}", 404, {})
        return {"resources": [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True, "verbs": ["get"]} for kind in self.served]}


def test_a_kind_is_found_as_soon_as_it_is_installed() -> None:
    cluster = Growing()
    for served in ([], ["Site"]):
        cluster.served = served
        with pytest.raises(NotServed, match="does not serve MultiKeyListener"):
            cluster.resource(API, "MultiKeyListener")
        assert [one.kind for one in cluster.resources(API)] == served
    cluster.served = ["Site", "MultiKeyListener"]
    assert cluster.resource(API, "MultiKeyListener").plural == "multikeylisteners"
    asked = cluster.asked
    assert cluster.resource(API, "Site").namespaced and cluster.asked == asked, "a kind that is known costs a request"
