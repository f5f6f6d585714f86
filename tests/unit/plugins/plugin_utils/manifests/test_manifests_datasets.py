# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Datasets in the objects of a site: golden files, and the rules behind them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import object_names
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import datasets
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, delivery
from ansible_collections.federated.flower.plugins.plugin_utils.spec.pods_spec import Dataset
from ansible_collections.federated.flower.tests.unit import specs

OF_SITE = [
    {"name": "ct", "claim": "radiology-ct"},
    {"name": "scratch-2", "new_claim": {"size": "20Gi", "storage_class": "fast"}, "read_only": False},
    {"name": "labels", "config_map": "ct-labels"},
    {
        "name": "archive",
        "volume": {"nfs": {"server": "nfs.example.com", "path": "/export/archive"}, "mount_options": ["nfsvers=4.2"]},
    },
    {"name": "disk", "volume": {"local": {"path": "/srv/disk"}, "node": "node-1", "size": "2Ti"}},
    {"name": "vault", "csi": {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": {"secretProviderClass": "v"}}},
]
OF_POOL = [{"name": "ct", "claim": "radiology-ct-fast"}, {"name": "codes", "secret": "icd-codes"}]
POOLS = [
    {"name": "cpu", "node_config": {"data": "{dataset:ct}/train", "all": "{dataset:archive}"}},
    {"name": "fast", "datasets": OF_POOL, "isolation": "subprocess"},
]
CASES = {
    "datasets": {"datasets": OF_SITE, "pools": POOLS},
    "datasets-workload": {"datasets": OF_SITE, "pools": POOLS[:1], "clientapp": "workload"},
}


def workload(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(item for item in objects if item["kind"] == "StatefulSet" and item["metadata"]["name"] == name)


def container(item: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in item["spec"]["template"]["spec"]["containers"] if one["name"] == name)


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, supernode_spec: Any, golden: Any) -> None:
    golden(f"supernode-{name}", specs.supernode_objects(supernode_spec(**CASES[name])))


def test_a_live_workload_says_which_datasets_it_has(supernode_spec: Any) -> None:
    mine = {
        "volumes": [{"name": "dataset-x", "emptyDir": {}}],
        "volume_mounts": [{"name": "dataset-x", "mountPath": "/x"}],
    }
    objects = specs.supernode_objects(supernode_spec(**CASES["datasets"], **mine))
    assert object_names.mounted_datasets(workload(objects, "supernode-cpu")) == sorted(one["name"] for one in OF_SITE)
    assert object_names.mounted_datasets({}) == []


def test_names_of_volumes_are_unique_and_fit(parsed_site: Any) -> None:
    one = Dataset.parse(OF_SITE[3])
    long = parsed_site(namespace="n" * 63, federation="f" * 63)
    assert datasets.volume_name(parsed_site(), one) == "flower-flower-dataset-archive"
    assert len(datasets.volume_name(long, Dataset.parse({**OF_SITE[3], "name": "d" * 200}))) <= 253


def test_variables_differ_where_names_differ() -> None:
    names = ["a", "a-b", "a--b", "ab", "s", "a-b-c"]
    variables = {datasets.variable_of(name) for name in names}
    assert len(variables) == len(names) and datasets.LIST_VARIABLE not in variables


def test_behind_open_cluster_management_data_stays_when_a_site_leaves(parsed_ocm_site: Any) -> None:
    spec = parsed_ocm_site(datasets=OF_SITE, pools=POOLS)
    common, own = delivery.split(specs.supernode_objects(spec))
    assert not [item for item in common if item["kind"].startswith("PersistentVolume")]
    body = addon_objects.work_spec([item for item in own if item["kind"] != "Namespace"])
    rules = body["deleteOption"]["selectivelyOrphans"]["orphaningRules"]
    assert {"group": "", "resource": "persistentvolumes", "name": "flower-flower-dataset-disk"} in rules
    assert {
        "group": "", "resource": "persistentvolumeclaims", "name": "dataset-scratch-2", "namespace": "flower",
    } in rules  # fmt: skip
    assert len(rules) == sum(item["kind"].startswith("PersistentVolume") for item in own) == 5
