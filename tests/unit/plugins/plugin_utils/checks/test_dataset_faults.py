# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of datasets: each names the host, the variable, the value and the remedy."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.checks.dataset_rules import MAX_NAME
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import supernode_faults

CT = {"name": "ct", "claim": "ct"}
NFS = {"nfs": {"server": "nfs", "path": "/ct"}}


def site(*listed: Any, **more: Any) -> dict[str, Any]:
    return {"datasets": list(listed), **more}


def new(**claim: Any) -> dict[str, Any]:
    return {"name": "ct", "new_claim": {"size": "1Gi", **claim}}


WRONG = [
    (site({"name": "ct", "volume": {"hostPath": {"path": "/"}}}), "supernode_datasets.volume.hostPath"),
    (site("ct"), "supernode_datasets[0]: a value of the type str (not shown) is not a mapping"),
    ({"datasets": "ct"}, "supernode_datasets: a value of the type str (not shown) is not a list"),
    (site({"name": "CT", "claim": "x"}), "supernode_datasets[0].name: 'CT' is not a DNS-1123 label"),
    (site({"name": "a_b", "claim": "x"}), "supernode_datasets[0].name: 'a_b' is not a DNS-1123 label"),
    (site({"name": "c" * 56, "claim": "x"}), "has 56 characters, at most 55 are possible"),
    (site(CT, CT), "supernode_datasets[1].name: 'ct' is the name of datasets[0], too"),
    (site({"name": "ct"}), "supernode_datasets[0]: an entry with the keys name has none of claim, new_claim, volume"),
    (site({**CT, "secret": "x"}), "has claim and secret; a dataset has one of them"),
    (site({"name": "ct", "claim": "A b"}), "supernode_datasets[0].claim: 'A b' is not a DNS name"),
    (site({"name": "ct", "secret": "x", "read_only": False}), "datasets[0].read_only: False is not possible"),
    (site({**CT, "read_only": "ture"}), "argument 'read_only' is of type str found in 'supernode_datasets'"),
    (site({**CT, "read_only": None}), "argument 'read_only' is of type NoneType found in 'supernode_datasets'"),
    (site(new(access_modes=[])), "new_claim.access_modes: [] is empty"),
    (site(new(size="")), "new_claim.size: '' is missing: a claim needs a size like \"100Gi\""),
    (site(new(size="big")), "new_claim.size: 'big' is not a quantity"),
    (site(new(size="0Gi")), "new_claim.size: '0Gi' is not above 0"),
    (site(new(storage_class="A")), "new_claim.storage_class: 'A' is not a DNS name"),
    (
        site({"name": "ct", "volume": {"size": "1Gi"}}),
        "has none of csi, fc, iscsi, local, nfs; a volume has one of them",
    ),
    (site({"name": "ct", "volume": {**NFS, "fc": {"x": 1}}}), "has fc and nfs of csi, fc, iscsi, local, nfs"),
    (site({"name": "ct", "volume": {"nfs": {"server": "x"}}}), "volume.nfs: an entry with the keys server has no path"),
    (site({"name": "ct", "volume": {"local": {"path": "/x"}}}), "volume.node: None is missing: a local volume"),
    (site({"name": "ct", "csi": {"volumeAttributes": {}}}), "datasets[0].csi.driver: None is not a DNS name"),
    (site({"name": "ct", "csi": {"driver": "x", "readOnly": False}}), "csi.readOnly: False is set by read_only"),
    (site(CT, env=[{"name": "FLOWER_DATASET_CT", "value": "/x"}]), "supernode_env: 'FLOWER_DATASET_CT' is set by this"),
    (
        site(CT, pools=[{"name": "p", "env": [{"name": "FLOWER_DATASETS", "value": "x"}]}]),
        "supernode_pools[0].env: 'FLOWER_DATASETS' is set by this collection",
    ),
    (
        site(CT, volumes=[{"name": "dataset-ct", "emptyDir": {}}]),
        "supernode_volumes: 'dataset-ct' is the name of a dataset's volume",
    ),
    *(
        (
            site(CT, volumes=[{"name": "v", "emptyDir": {}}], volume_mounts=[{"name": "v", "mountPath": path}]),
            f"supernode_volume_mounts: '{path}' overlaps /data/ct, where a dataset is mounted",
        )
        for path in ("/data/ct", "/data/ct/", "/data", "/data/ct/raw")
    ),
    (
        {"pools": [{"name": "p", "datasets": [{"name": "ct"}]}]},
        "supernode_pools[0].datasets[0]: an entry with the keys name has none of",
    ),
    (
        {"pools": [{"name": "a", "datasets": [new()]}, {"name": "b", "datasets": [new(size="2Gi")]}]},
        "the pools a and b describe the claim dataset-ct of the dataset ct in different ways",
    ),
    (
        site(new(access_modes=["ReadWriteOncePod"]), pools=[{"name": "p", "replicas": 2}]),
        "the claim of the dataset ct has the access mode ReadWriteOncePod, and more than one pod needs it",
    ),
    (
        site(new(access_modes=["ReadWriteOncePod"]), pools=[{"name": "p", "mode": "DaemonSet"}]),
        "ReadWriteOncePod, and more than one pod needs it",
    ),
    (
        site(CT, pools=[{"name": "p", "node_config": {"data": "{dataset:mri}"}}]),
        "unknown placeholder {dataset:mri}; there is no dataset 'mri' here; the nearest known one is {dataset:ct}.",
    ),
]


@each_row(("changes", "sentence"), WRONG)
def test_faults(changes: dict[str, Any], sentence: str, supernode_spec: Any) -> None:
    faults = supernode_faults(supernode_spec(**changes))
    assert any(sentence in fault for fault in faults), faults
    assert all("site-a" in fault for fault in faults)


@each_row(
    "changes",
    [
        site(),
        {"datasets": None},
        site(CT, {"name": "c" * MAX_NAME, "secret": "x"}),
        # As Ansible's argument specification completes them.
        site({**dict.fromkeys(("new_claim", "volume", "csi", "secret", "config_map")), **CT, "read_only": True}),
        site({"name": "ct", "volume": {**dict.fromkeys(("csi", "fc", "node", "size")), **NFS}}),
        site(new(access_modes=["ReadWriteMany"]), pools=[{"name": "a"}, {"name": "b", "replicas": 3}]),
        site(
            CT, pools=[{"name": "a", "datasets": [{"name": "ct", "secret": "x"}], "node_config": {"x": "{dataset:ct}"}}]
        ),
        site(CT, volumes=[{"name": "v", "emptyDir": {}}], volume_mounts=[{"name": "v", "mountPath": "/data-2"}]),
        # The pool has its own mounts, and none of the site's.
        site(
            CT,
            volumes=[{"name": "v", "emptyDir": {}}],
            pools=[
                {
                    "name": "p",
                    "volumes": [{"name": "w", "emptyDir": {}}],
                    "volume_mounts": [{"name": "w", "mountPath": "/w"}],
                }
            ],
        ),
    ],
)
def test_no_faults(changes: dict[str, Any], supernode_spec: Any) -> None:
    assert supernode_faults(supernode_spec(**changes)) == []


def test_what_may_hold_a_credential_is_not_shown(supernode_spec: Any) -> None:
    csi = {"driver": "A B", "volumeAttributes": {"password": "s3cr3t"}}
    listed = [
        {"name": "a", "csi": csi, "claim": "x"},
        {"name": "b", "csi": csi},
        {"name": "c", "volume": {"csi": {"volumeAttributes": {"password": "s3cr3t"}}, "iscsi": {"p": "s3cr3t"}}},
        {"name": "d", "password": "s3cr3t"},
        ["s3cr3t"],
    ]
    for one in listed:
        faults = supernode_faults(supernode_spec(datasets=[one]))
        assert faults and "s3cr3t" not in "".join(faults)


def test_what_is_the_sites_is_reported_once(supernode_spec: Any) -> None:
    pools = [{"name": name} for name in ("a", "b", "c")]
    faults = supernode_faults(supernode_spec(**site(CT, pools=pools, env=[{"name": "FLOWER_DATASETS", "value": "x"}])))
    assert len(faults) == 1
