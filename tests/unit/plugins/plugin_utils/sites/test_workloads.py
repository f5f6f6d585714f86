# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site reports of its workloads is bounded, since the results of all sites are in memory several times."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import POOL_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import flower_versions
from ansible_collections.federated.flower.plugins.plugin_utils.flower import known_releases
from ansible_collections.federated.flower.plugins.plugin_utils.sites import workloads
from ansible_collections.federated.flower.tests.integration.hostile_api import talkative_pods
from ansible_collections.federated.flower.tests.unit.rows import each_row

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


@pytest.mark.parametrize("sets", [[SET] * 5000])
def test_more_workloads_than_any_site_has_are_an_error_of_the_site(sets: list[dict[str, Any]]) -> None:
    result = workloads.unknown()
    with pytest.raises(ClusterError, match="^site-c: what it reports of its workloads in namespace flower is larger than 256 KiB"):
        workloads.read(Site(sets), "flower", result)  # type: ignore[arg-type]
    assert result == workloads.unknown()


def odd(**changes: Any) -> dict[str, Any]:
    """A StatefulSet with other values at paths such as C(metadata__name)."""
    made = copy.deepcopy({"kind": "StatefulSet", **SET})
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = made
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return made


@each_row("count", ["x", {}, [1], 1.5, -1, 10**7, "9" * 5000])
def test_a_count_that_is_not_one_is_an_error_of_the_site(count: Any) -> None:
    for path in ("spec__replicas", "status__readyReplicas"):
        with pytest.raises(ValueError, match="is not a number|is not an integer"):
            workloads.workload(odd(**{path: count}))
    assert workloads.workload(odd(spec__replicas="3", status__readyReplicas=2)).items() >= {"desired": 3, "ready": 2}.items()


@each_row("value", [{}, [["x"]], 7, "x" * 5000, "\x1b]0;"])
def test_what_sites_are_compared_by_is_short_text(value: Any) -> None:
    labels = {POOL_LABEL: value, "app.kubernetes.io/version": value}
    found = workloads.workload(odd(metadata__name=value, metadata__labels=labels, kind=value))
    for key in ("kind", "name", "pool", "version"):
        assert isinstance(found[key], str) and len(found[key]) <= 253 and "\x1b" not in found[key]
    assert flower_versions.images_by_workload(flower_versions.running([found, found]))


def test_a_version_of_thousands_of_digits_is_not_a_release() -> None:
    assert known_releases.release_of("9" * 5000 + ".1.2") == (0, 0, 0)
    assert known_releases.release_of("v1.41.0") == (1, 41, 0)
