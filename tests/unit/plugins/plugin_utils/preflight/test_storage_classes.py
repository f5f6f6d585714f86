# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub whose volumes nothing makes would wait for its claims until time is up."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube import volume_classes
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import storage_classes

GP2 = {"metadata": {"name": "gp2"}}  # as Amazon EKS has it
FAST = {"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "false"}}}
STANDARD = {"metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
DATABASE, OUTPUTS = "superlink_storage_class", "superlink_outputs_storage_class"


class Cluster:
    """One with StorageClasses, which may be listed or not. A request that is denied would be in its audit log."""

    def __init__(self, live: list[Any], *, allowed: bool = True) -> None:
        self.live, self.allowed = live, allowed

    def access_review(self, asked: list[Any]) -> list[bool]:
        return [self.allowed for _one in asked]

    def list(self, _api: str, _kind: str) -> list[Any]:
        assert self.allowed
        return self.live


def listed(*live: Any) -> dict[str, bool] | None:
    cluster: Any = Cluster([*live])
    return volume_classes.listed(cluster)


@pytest.mark.parametrize(
    ("live", "changes", "variables"),
    [
        ([GP2, STANDARD], {}, []),
        ([GP2, FAST], {}, [DATABASE, OUTPUTS]),
        ([], {}, [DATABASE, OUTPUTS]),
        ([GP2], {"outputs_enabled": False}, [DATABASE]),
        ([GP2], {"outputs_claim": "mine"}, [DATABASE]),
        ([GP2], {"storage_class": "gp2"}, [OUTPUTS]),
        ([STANDARD], {"storage_class": "gp3"}, [DATABASE]),
    ],
)
def test_classes_that_are_not_there(parsed_hub: Any, live: list[Any], changes: dict[str, Any], variables: list[str]) -> None:
    found = storage_classes.warnings(parsed_hub(**{"outputs_enabled": True, "storage_class": "", **changes}), listed(*live))
    assert [words.partition(":")[0] for words in found] == variables


def test_the_warning_has_the_choice(parsed_hub: Any) -> None:
    (words,) = storage_classes.warnings(parsed_hub(outputs_enabled=False, storage_class="gp3"), listed(GP2, FAST))
    assert words.startswith("superlink_storage_class: the cluster has no StorageClass gp3,") and words.endswith("one of the cluster's: fast, gp2")


def test_without_the_right_to_list_them_nothing_is_known(parsed_hub: Any) -> None:
    cluster: Any = Cluster([], allowed=False)
    assert storage_classes.warnings(parsed_hub(storage_class="gp3"), volume_classes.listed(cluster)) == []
