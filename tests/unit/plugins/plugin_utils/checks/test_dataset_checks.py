# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Datasets that cannot be mounted are refused by name, with the remedy; what cannot be known is a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import require
from ansible_collections.federated.flower.plugins.plugin_utils.checks import dataset_checks
from ansible_collections.federated.flower.plugins.plugin_utils.checks.dataset_checks import Seen
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import datasets
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct_checks
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import said

CT = {"name": "ct", "claim": "ct"}
NEW = {"name": "ct", "new_claim": {"size": "10Gi", "storage_class": "fast"}}
NFS = {"name": "ct", "volume": {"nfs": {"server": "nfs", "path": "/ct"}}}
FAST = {"metadata": {"name": "fast"}, "volumeBindingMode": "Immediate"}
LATE = {**FAST, "volumeBindingMode": "WaitForFirstConsumer"}


def spec(*listed: dict[str, Any], **pool: Any) -> SiteSpec:
    pools = [{"name": "cpu", **pool}]
    given = {
        "cluster": "site-a",
        "namespace": "flower",
        "federation": "flower",
        "datasets": list(listed),
        "pools": pools,
    }
    return SiteSpec.parse(given)


def claim(phase: str = "Bound", modes: tuple[str, ...] = ("ReadWriteOnce",), **body: Any) -> dict[str, Any]:
    given = {"accessModes": list(modes), "storageClassName": "fast", **body}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "ct", "namespace": "flower"},
        "spec": given,
        "status": {"phase": phase},
    }


def ours(wanted: SiteSpec, kind: str, phase: str = "Bound", **body: Any) -> dict[str, Any]:
    """The live object of what would be rendered."""
    (item,) = (one for one in datasets.objects(wanted) if one["kind"] == kind)
    return {**item, "spec": {**item["spec"], **body}, "status": {"phase": phase}}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}, "spec": {}}


def check(wanted: SiteSpec, **seen: Any) -> tuple[str, str]:
    return said(dataset_checks.check(wanted, Seen(**seen)))


def test_without_datasets_nothing_is_wrong() -> None:
    assert dataset_checks.datasets_of(spec()) == [] and check(spec()) == ("", "")


@each_row(
    ("seen", "fault"),
    [
        ({"claims": {"ct": None}}, "dataset ct: PersistentVolumeClaim flower/ct does not exist: create it"),
        ({"claims": {"ct": claim("Lost")}}, "has lost its volume"),
        (
            {"claims": {"ct": claim("Pending")}, "classes": {"fast": FAST}},
            "is Pending, not Bound, and its StorageClass fast does not",
        ),
        ({"claims": {"ct": claim("Pending")}, "classes": {"fast": None}}, "and there is no StorageClass fast"),
        ({"claims": {"ct": claim("Pending", storageClassName="")}}, "is Pending, not Bound, and has no StorageClass"),
        (
            {
                "claims": {"ct": claim("Pending")},
                "classes": {"fast": FAST},
                "events": {"ct": ["event of PersistentVolumeClaim ct: ProvisioningFailed: no space left"]},
            },
            "ProvisioningFailed: no space left. Provide a volume",
        ),
        ({"claims": {"ct": {**claim(), "metadata": {"name": "ct", "deletionTimestamp": "x"}}}}, "is being deleted"),
    ],
)
def test_claims_that_cannot_be_used(seen: dict[str, Any], fault: str) -> None:
    faults, _warnings = check(spec(CT), **seen)
    assert fault in faults


@each_row(
    ("seen", "warning"),
    [
        ({"claims": {"ct": claim()}}, ""),
        ({"claims": {"ct": claim("Pending")}, "classes": {"fast": LATE}}, ""),
        ({"claims": {"ct": claim("Pending")}}, "whether its StorageClass fast waits for the first pod is unknown"),
        ({}, "whether PersistentVolumeClaim flower/ct can be used is unknown: this identity cannot read it"),
    ],
)
def test_claims_that_may_be_used(seen: dict[str, Any], warning: str) -> None:
    faults, warnings = check(spec(CT), **seen)
    assert faults == "" and warning in warnings and bool(warning) == bool(warnings)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_files(kind: str) -> None:
    wanted = spec({"name": "codes", "secret" if kind == "Secret" else "config_map": "icd"})
    assert check(wanted, files={(kind, "icd"): True}) == ("", "")
    assert (
        f"dataset codes: {kind} flower/icd does not exist: create it" in check(wanted, files={(kind, "icd"): False})[0]
    )
    assert "is unknown: this identity cannot read it" in check(wanted)[1]


NODES = [node("one"), node("two", zone="b")]


@each_row(
    ("modes", "pool", "seen", "fault"),
    [
        (["ReadWriteOnce"], {"replicas": 2}, {"nodes": NODES}, "may run on 2 nodes, of which only one can mount it"),
        (
            ["ReadWriteOnce"],
            {"mode": "DaemonSet"},
            {"nodes": NODES},
            "and the pods of a DaemonSet (pool cpu) may run on 2 nodes",
        ),
        (["ReadWriteOncePod"], {"replicas": 2}, {}, "and 2 pods (pool cpu) need it"),
        (["ReadWriteOnce"], {"replicas": 2, "node_selector": {"zone": "b"}}, {"nodes": NODES}, ""),
        (["ReadWriteOnce"], {"replicas": 1}, {"nodes": NODES}, ""),
        (["ReadWriteOnce"], {"replicas": 2}, {"nodes": NODES[:1]}, ""),
        (["ReadWriteMany"], {"replicas": 2}, {"nodes": NODES}, ""),
        (["ReadOnlyMany"], {"mode": "DaemonSet"}, {"nodes": NODES}, ""),
    ],
)
def test_access_modes(modes: list[str], pool: dict[str, Any], seen: dict[str, Any], fault: str) -> None:
    faults, warnings = check(spec(CT, **pool), claims={"ct": claim(modes=tuple(modes))}, **seen)
    assert fault in faults and bool(fault) == bool(faults) and warnings == ""


def test_a_volume_of_one_node_brings_its_pods_there() -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["two"]}]}
    volume = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}
    live = claim(volumeName="pv")
    assert check(spec(CT, replicas=2), claims={"ct": live}, volumes={"pv": volume}, nodes=NODES) == ("", "")
    faults, warnings = check(spec(CT, replicas=2), claims={"ct": live}, volumes={}, nodes=NODES)
    assert faults == "" and "cannot read its PersistentVolume pv" in warnings
    # A DaemonSet has a pod on every node all the same.
    assert "2 nodes" in check(spec(CT, mode="DaemonSet"), claims={"ct": live}, volumes={"pv": volume}, nodes=NODES)[0]


def test_nodes_that_may_not_be_listed_are_a_warning() -> None:
    faults, warnings = check(spec(CT, replicas=2), claims={"ct": claim()})
    assert faults == "" and "this identity cannot list nodes" in warnings


def test_a_claim_that_cannot_be_written_to() -> None:
    wanted = spec({**CT, "read_only": False})
    assert "and read_only is false" in check(wanted, claims={"ct": claim(modes=("ReadOnlyMany",))})[0]
    assert check(wanted, claims={"ct": claim()}) == ("", "")


def test_a_new_claim() -> None:
    wanted, name = spec(NEW), "dataset-ct"
    assert check(wanted, claims={name: None}, classes={"fast": FAST}) == ("", "")
    assert check(wanted, claims={name: None}) == ("", "")
    assert "there is no StorageClass fast" in check(wanted, claims={name: None}, classes={"fast": None})[0]
    live = ours(wanted, "PersistentVolumeClaim")
    assert check(wanted, claims={name: live}, classes={"fast": FAST}) == ("", "")
    assert "was created by someone else" in check(wanted, claims={name: {**claim(), "metadata": {"name": name}}})[0]


@each_row(("has_default", "told"), [(False, True), (True, False), (None, False)])
def test_a_new_claim_in_a_cluster_without_a_default_class(has_default: bool | None, told: bool) -> None:
    wanted = spec({"name": "ct", "new_claim": {"size": "10Gi"}})
    faults, warnings = check(wanted, claims={"dataset-ct": None}, has_default=has_default)
    assert faults == "" and ("no default StorageClass, so PersistentVolumeClaim flower/dataset-ct waits" in warnings) == told == bool(warnings)
    assert check(spec(NEW), claims={"dataset-ct": None}, has_default=False) == ("", "")


def test_classes_are_listed_for_a_new_claim_without_one_only() -> None:
    listed: list[str] = []

    class Cluster:
        """With one class, which is the default."""

        def get(self, *_place: str | None) -> None:
            return None

        def access_review(self, asked: list[Any]) -> list[bool]:
            return [True for _one in asked]

        def list(self, _api: str, kind: str) -> list[dict[str, Any]]:
            listed.append(kind)
            return [{"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}]

    cluster: Any = Cluster()
    assert direct_checks.check_datasets(cluster, spec({"name": "ct", "new_claim": {"size": "10Gi"}})) == [] and listed == ["StorageClass"]
    assert direct_checks.check_datasets(cluster, spec(NFS)) == [] and listed == ["StorageClass"]


def test_a_claim_of_someone_else_is_refused_whatever_a_patch_says() -> None:
    note = {"metadata": {"annotations": {"federated.flower/adopt": "true"}}}
    patch = {"target": {"kind": "PersistentVolumeClaim", "name": "dataset-ct"}, "patch": note}
    theirs = {**ours(spec(NEW), "PersistentVolumeClaim"), "metadata": {"name": "dataset-ct"}}
    for one in (spec(NEW), replace(spec(NEW), patches=[patch])):
        fault, _warning = check(one, claims={"dataset-ct": theirs}, classes={"fast": FAST})
        assert "was created by someone else" in fault and "To use it as it is, set claim: dataset-ct" in fault


def test_a_volume_that_was_released_or_is_someone_elses() -> None:
    wanted = spec(NFS)
    name = datasets.volume_name(wanted, wanted.pools[0].datasets[0])
    none = {"dataset-ct": None}
    live = ours(wanted, "PersistentVolume", "Bound")
    assert check(wanted, claims=none, volumes={name: live}) == ("", "")
    assert (
        f"kubectl delete pv {name}"
        in check(wanted, claims=none, volumes={name: {**live, "status": {"phase": "Released"}}})[0]
    )
    other = {**live, "metadata": {"name": name}}
    assert "was created by someone else" in check(wanted, claims=none, volumes={name: other})[0]
    # Its name is that of a dataset of the federation "flower-x" in the namespace "flower".
    labels = {**live["metadata"]["labels"], "app.kubernetes.io/instance": "flower-x"}
    faults, _warnings = check(wanted, claims=none, volumes={name: {**live, "metadata": {"name": name, "labels": labels}}})
    assert "belongs to the federation flower-x" in faults and "Or use another name for the dataset" in faults


def test_a_namespace_that_will_be_created_is_named() -> None:
    faults, _warnings = check(spec(CT), claims={"ct": None}, is_namespace_missing=True)
    assert "Namespace flower does not exist yet: deploy once without this dataset" in faults
    assert "Namespace" not in check(spec(CT), claims={"ct": None})[0]


def test_what_the_hub_cannot_see_is_a_warning() -> None:
    assert require(dataset_checks.unseen(spec(NEW))) == [] == require(dataset_checks.unseen(spec()))
    (warning,) = require(dataset_checks.unseen(spec(CT, {"name": "codes", "secret": "icd"})))
    assert "PersistentVolumeClaim ct, Secret icd" in warning
    assert require(dataset_checks.unseen(spec(CT), ["ct"])) == []


HERE = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
LIKED = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
PINNED = claim("Bound", volumeName="pv-1")


@each_row(
    ("volumes", "affinity", "known"),
    [({}, {}, False), ({"pv-1": {}}, HERE, False), ({"pv-1": {}}, LIKED, True), ({"pv-1": {}}, {}, True)],
)
def test_a_claim_that_may_be_on_one_node_is_no_fault(volumes: Any, affinity: Any, known: bool) -> None:
    wanted = spec(CT, replicas=2, affinity=affinity)
    seen = {"claims": {"ct": PINNED}, "volumes": volumes, "nodes": [node("n1"), node("n2")]}
    faults, warnings = check(wanted, **seen)
    assert ("may run on 2 nodes" in faults, "cannot determine whether they run on one node" in warnings) == (
        known,
        not known,
    )


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("Retain", "its data stays, since its reclaim policy is Retain"),
        ("Delete", "set its reclaim policy to Retain before"),
    ],
)
def test_no_advice_deletes_data(policy: str, words: str) -> None:
    wanted = spec(NFS)
    live = ours(wanted, "PersistentVolume", "Released", persistentVolumeReclaimPolicy=policy)
    faults, _warnings = check(wanted, claims={"dataset-ct": None}, volumes={live["metadata"]["name"]: live})
    assert words in faults, faults
