# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site reports of its workloads is bounded, since the results of all sites are in memory several times."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.sites import workloads
from ansible_collections.federated.flower.tests.integration.hostile_api import talkative_pods

SET, POD = talkative_pods()


class Site:
    """A cluster with some StatefulSets and pods."""

    name = "site-c"

    def __init__(self, sets: list[dict[str, Any]]) -> None:
        self.sets = sets

    def list(self, _version: str, kind: str, _namespace: str, **_more: Any) -> list[dict[str, Any]]:
        found = {"StatefulSet": self.sets, "Pod": [POD]}.get(kind, [])
        return copy.deepcopy(found)


def test_a_long_message_of_a_pod_is_shortened_and_has_no_control_characters() -> None:
    result = workloads.unknown()
    workloads.read(Site([SET]), "flower", result)  # type: ignore[arg-type]
    assert "supernode-cpu-0 (Pending): container supernode ErrImagePull: ?]0;owned? xxx" in result["trouble"]
    assert len(result["trouble"]) == 2000 and "\x1b" not in result["trouble"]
    assert [one["pool"] for one in result["workloads"]] == ["cpu"]


@pytest.mark.parametrize("sets", [[SET] * 5000, [{**SET, "metadata": {**SET["metadata"], "labels": {"app.kubernetes.io/version": "x" * 300_000}}}]])
def test_more_workloads_than_any_site_has_are_an_error_of_the_site(sets: list[dict[str, Any]]) -> None:
    result = workloads.unknown()
    with pytest.raises(ClusterError, match="^site-c: what it reports of its workloads in namespace flower is larger than 256 KiB"):
        workloads.read(Site(sets), "flower", result)  # type: ignore[arg-type]
    assert result == workloads.unknown()
