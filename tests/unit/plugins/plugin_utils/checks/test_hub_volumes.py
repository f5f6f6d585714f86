# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub's volumes, before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_pod
from ansible_collections.federated.flower.plugins.plugin_utils.checks import hub_volumes
from ansible_collections.federated.flower.plugins.plugin_utils.kube import cluster_platform
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import said


def claim(modes: tuple[str, ...] = ("ReadWriteOnce",), size: str = "10Gi", phase: str = "Bound", **meta: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "superlink-outputs", "namespace": "flower", **meta},
        "spec": {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "storageClassName": "standard"},
        "status": {"phase": phase},
    }


def test_a_claim_that_was_deleted_is_named_while_its_data_can_still_be_saved() -> None:
    assert said(hub_volumes.deleted([None, claim()])) == ("", "")
    faults, words = said(hub_volumes.deleted([claim(name="data-superlink-0", deletionTimestamp="2026-11-26T22:25:00Z"), claim()]))
    assert words == "" and "flower/data-superlink-0 was deleted at 2026-11-26T22:25:00Z" in faults and "federated.flower.backup" in faults


def test_another_size_is_no_other_template(parsed_hub: Any) -> None:
    live = superlink.stateful_set(parsed_hub(storage_size="10Gi"))
    made = hub_volumes.created_size(live)
    later = parsed_hub(storage_size="50Gi", created_storage_size=made)
    assert (made, superlink.stateful_set(later)) == ("10Gi", live)
    assert superlink.stateful_set(parsed_hub(storage_size="50Gi")) != live
    assert hub_volumes.created_size(None) == ""
    new = volume_pod.claim(parsed_hub(storage_size="50Gi"), "backup")
    assert new["spec"]["resources"]["requests"]["storage"] == "50Gi", "a new claim has the size of the variable"


@each_row(("there", "wanted", "is_small"), [("10Gi", "50Gi", True), ("50Gi", "50Gi", False), ("60Gi", "50Gi", False), ("1024Mi", "1Gi", False)])
def test_a_claim_that_is_too_small_comes_with_the_command(parsed_hub: Any, there: str, wanted: str, is_small: bool) -> None:
    faults, words = said(hub_volumes.database(parsed_hub(storage_size=wanted), {}, None, claim(size=there)))
    assert faults == "" and bool(words) is is_small
    if is_small:
        assert words.startswith("superlink_storage_size: 50Gi is for new volumes; the volume with the SuperLink's database has 10Gi.")
        assert words.endswith("""kubectl patch pvc data-superlink-0 -n flower -p '{"spec": {"resources": {"requests": {"storage": "50Gi"}}}}'""")


@each_row(
    ("before", "after", "words"),
    [
        ({}, {}, ""),
        ({"storage_class": "fast"}, {"storage_class": "fast", "storage_size": "50Gi", "made_storage_size": "10Gi"}, ""),
        ({"storage_class": "fast"}, {"storage_class": "slow"}, "superlink_storage_class: the volume with the SuperLink's database was created with fast,"),
        ({}, {"storage_class": "slow"}, "created with no StorageClass named (the cluster's default then), which cannot be changed to slow"),
        ({}, {"storage_access_mode": "ReadWriteOncePod"}, "superlink_storage_access_mode: the volume"),
    ],
)
def test_what_cannot_change(parsed_hub: Any, before: dict[str, Any], after: dict[str, Any], words: str) -> None:
    live, rendered = (superlink.stateful_set(parsed_hub(**{"storage_size": "10Gi", **changes})) for changes in (before, after))
    faults, _warnings = said(hub_volumes.database(parsed_hub(), rendered, live, None))
    assert words in faults and bool(words) is bool(faults)
    assert said(hub_volumes.database(parsed_hub(), rendered, None, None)) == ("", "")


@each_row(
    ("changes", "live", "words"),
    [
        ({"outputs_claim": "models"}, None, "flower/models does not exist: create it, or leave superlink_outputs_claim empty"),
        ({"outputs_claim": "models"}, claim(deletionTimestamp="2026-11-22T00:00:00Z"), "flower/models is being deleted"),
        ({"outputs_claim": "models"}, claim(phase="Lost"), "flower/models has lost its volume"),
        ({"outputs_claim": "models"}, claim(modes=("ReadOnlyMany",)), "has the access mode ReadOnlyMany, and ServerApps write to it"),
        ({"outputs_claim": "models"}, claim(phase="Pending"), ""),
        ({"outputs_claim": "models"}, claim(modes=("ReadOnlyMany", "ReadWriteMany")), ""),
        ({}, None, ""),
        ({}, claim(), ""),
    ],
)
def test_the_claim_for_outputs(parsed_hub: Any, changes: dict[str, Any], live: dict[str, Any] | None, words: str) -> None:
    faults, warnings = said(hub_volumes.outputs(parsed_hub(**changes), live))
    assert words in faults and bool(words) is bool(faults) and warnings == ""


GP2 = {"metadata": {"name": "gp2"}}  # as Amazon EKS has it
FAST = {"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "false"}}}
STANDARD = {"metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
DATABASE, OUTPUTS = "superlink_storage_class", "superlink_outputs_storage_class"


class Cluster:
    """One with StorageClasses, which may be listed or not. A request that is denied would be in its audit log."""

    def __init__(self, *live: Any, allowed: bool = True) -> None:
        self.live, self.allowed = live, allowed

    def access_review(self, asked: list[Any]) -> list[bool]:
        return [self.allowed for _one in asked]

    def list(self, _api: str, _kind: str) -> list[Any]:
        assert self.allowed
        return [*self.live]


@each_row(
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
    cluster: Any = Cluster(*live)
    spec = parsed_hub(**{"outputs_enabled": True, "storage_class": "", **changes})
    faults, words = said(hub_volumes.storage_classes(spec, cluster_platform.storage_classes(cluster)))
    assert faults == "" and [line.partition(":")[0] for line in words.splitlines()] == variables
    names = ", ".join(sorted(one["metadata"]["name"] for one in live)) or "there are none"
    assert all(line.endswith(f"a StorageClass of the cluster: {names}") for line in words.splitlines())
    hidden: Any = Cluster(allowed=False)
    assert said(hub_volumes.storage_classes(spec, cluster_platform.storage_classes(hidden))) == ("", "")
