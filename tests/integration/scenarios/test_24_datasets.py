# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Datasets by name: what cannot be mounted is refused, what can be is where apps look for it, and data is not deleted unless that is requested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, CPU, GPU, NODE_CONFIG
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

INDEX = "flower-datasets"
CODES = {"name": "codes", "config_map": "icd-codes"}
CT_A = {"name": "ct", "new_claim": {"size": "64Mi"}, "read_only": False}
CT_B = {"name": "ct", "claim": "ct-data"}
# What an app sees: the variables, what is mounted, and whether it can write.
LOOK = """\
import json, os
found = {"env": {key: value for key, value in os.environ.items() if key.startswith("FLOWER_DATASET")}, "writes": {}}
for name in sorted(os.listdir("/data")):
    try:
        with open(f"/data/{name}/written", "w") as file:
            file.write(name)
        found["writes"][name] = True
    except OSError as error:
        found["writes"][name] = "read-only" if error.errno == 30 else str(error)
print(json.dumps(found))
"""


def create(cluster: Any, kind: str, name: str, **more: Any) -> None:
    """Make an object as a site's administrators would."""
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}
    path = cluster.resource("v1", kind).path(NAMESPACE)
    cluster.request("POST", path, query={"fieldManager": "kubectl-create"}, body=body)


def claim(cluster: Any, name: str, mode: str = "ReadWriteOnce", storage_class: str = "standard") -> None:
    """A claim of someone else."""
    spec = {
        "accessModes": [mode],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "64Mi"}},
    }
    create(cluster, "PersistentVolumeClaim", name, spec=spec)


def sites(fed: Any, a: list[dict[str, Any]], b: list[dict[str, Any]], **of_b: Any) -> dict[str, Any]:
    """The base inventory with datasets. The ClientApp of site-b is in a pod of its own."""
    hosts = fed.base()
    hosts["site-a"] |= {"supernode_datasets": a, "supernode_pools": [{**CPU, "node_config": dict(NODE_CONFIG)}]}
    hosts["site-b"] |= {"supernode_datasets": b, "flower_clientapp": "workload", "supernode_pools": [dict(GPU)], **of_b}
    return hosts


def preflight(fed: Any, hosts: dict[str, Any], rc: int = 2) -> Any:
    """Run the checks, which must not change anything."""
    settled = fed.settled
    lives = {context: fed.lives(context) for context in ("site-a", "site-b")}
    run = fed.play("site", "--tags", "preflight", hosts=hosts, rc=rc)
    assert set(run.changed.values()) == {0} and {context: fed.lives(context) for context in lives} == lives
    fed.settled = settled
    return run


def look(fed: Any, context: str, pod: str) -> dict[str, Any]:
    """What an app in a pod finds."""
    return json.loads(fed.python(context, pod, "superexec", LOOK))


def names(fed: Any, context: str, kind: str = "PersistentVolumeClaim") -> set[str]:
    """Names of the objects in the site's namespace."""
    return {item["metadata"]["name"] for item in fed.cluster(context).list("v1", kind, NAMESPACE)}


@pytest.fixture(scope="module")
def data(federation: Any) -> Iterator[None]:
    """What the sites' administrators created; the federation is as before at the end."""
    federation.settle()
    site_a, site_b = federation.cluster("site-a"), federation.cluster("site-b")
    for cluster in (site_a, site_b):
        create(cluster, "ConfigMap", "icd-codes", data={"a.csv": "code\n"})
    claim(site_b, "ct-data")
    yield
    federation.settled = False
    federation.settle()
    for cluster in (site_a, site_b):
        for kind, wanted in (("PersistentVolumeClaim", "ct-data dataset-ct stuck one-pod"), ("ConfigMap", "icd-codes")):
            for name in wanted.split():
                if cluster.get("v1", kind, name, NAMESPACE) is not None:
                    cluster.delete("v1", kind, name, NAMESPACE)
    if federation.hub.get("v1", "ConfigMap", INDEX, NAMESPACE) is not None:
        federation.hub.delete("v1", "ConfigMap", INDEX, NAMESPACE)


def test_what_cannot_be_mounted_is_refused_by_name(fed: Any, data: None) -> None:
    site_a = fed.cluster("site-a")
    claim(site_a, "stuck", storage_class="")
    claim(site_a, "one-pod", "ReadWriteOncePod")
    wrong = [
        {"name": "ct", "claim": "nowhere"},
        {"name": "stuck", "claim": "stuck"},
        {"name": "one-pod", "claim": "one-pod"},
        {"name": "keys", "secret": "nowhere"},
        {"name": "scratch", "new_claim": {"size": "1Gi", "storage_class": "nowhere"}},
    ]
    run = preflight(fed, sites(fed, wrong, [CT_B]))
    words = run.messages("site-a", failed=True)
    for part in (
        f"dataset ct: PersistentVolumeClaim {NAMESPACE}/nowhere does not exist: create it",
        f"dataset stuck: PersistentVolumeClaim {NAMESPACE}/stuck is Pending, not Bound, and has no StorageClass",
        f"dataset one-pod: PersistentVolumeClaim {NAMESPACE}/one-pod has the access mode ReadWriteOncePod, and 2 pods (pool cpu) need it",
        f"dataset keys: Secret {NAMESPACE}/nowhere does not exist",
        "dataset scratch: there is no StorageClass nowhere",
    ):
        assert part in words, words
    # A claim that is bound by its first pod is in order.
    assert run.messages("site-b", failed=True) == ""


def test_faults_of_variables_are_found_without_a_cluster(fed: Any, data: None) -> None:
    hosts = sites(fed, [{"name": "CT", "claim": "x"}], [CT_B])
    hosts["site-b"]["supernode_pools"][0]["node_config"] = {"x": "{dataset:mri}"}
    run = preflight(fed, hosts)
    assert "site-a: supernode_datasets[0].name: 'CT' is not a DNS-1123 label" in run.messages("site-a", failed=True)
    assert "there is no dataset 'mri' here; the nearest known one is {dataset:ct}" in run.messages(
        "site-b", failed=True
    )


def test_apps_find_their_data_in_both_kinds_of_pods(fed: Any, data: None) -> None:
    hosts = sites(fed, [CT_A, CODES], [CT_B])
    hosts["site-a"]["supernode_pools"][0]["node_config"]["train"] = "{dataset:ct}/train"
    fed.site(hosts)
    fed.unchanged(hosts)
    pods = sorted(fed.pods("site-a"))
    found = look(fed, "site-a", pods[0])
    assert found["env"] == {
        "FLOWER_DATASETS": "codes,ct",
        "FLOWER_DATASET_CODES": "/data/codes",
        "FLOWER_DATASET_CT": "/data/ct",
    }
    assert found["writes"] == {"codes": "read-only", "ct": True}
    # All pods of the pool have the same claim.
    assert fed.python("site-a", pods[1], "superexec", "print(open('/data/ct/written').read())").strip() == "ct"
    assert {fed.node_config("site-a", pod)["train"] for pod in pods} == {"/data/ct/train"}
    assert fed.python("site-a", pods[0], "supernode", "import os; print(os.path.exists('/data'))").strip() == "False"
    (app,) = fed.pods("site-b", name="clientapp")
    assert look(fed, "site-b", app) == {
        "env": {"FLOWER_DATASETS": "ct", "FLOWER_DATASET_CT": "/data/ct"},
        "writes": {"ct": "read-only"},
    }
    level = fed.cluster("site-a").get("v1", "Namespace", NAMESPACE)["metadata"]["labels"]
    assert level["pod-security.kubernetes.io/enforce"] == "restricted"
    fed.settled = True  # the next tests look at this federation


def test_status_and_hub_know_which_site_has_what(fed: Any, data: None) -> None:
    hosts = sites(fed, [CT_A, CODES], [CT_B])
    table = fed.play("status", hosts=hosts).table
    assert "dataset codes: site-a cpu" in table and "dataset ct: site-a cpu, site-b gpu" in table, table
    index = fed.ledger().read(INDEX)
    assert index["site-a"]["cpu"]["datasets"] == ["codes", "ct"] and index["site-b"]["gpu"]["datasets"] == ["ct"]
    assert set(index["site-a"]["cpu"]["nodes"]) == set(fed.keys("site-a").values())
    (added,) = [
        entry
        for entry in fed.trail()
        if {"pool": "gpu", "dataset": "ct", "change": "added"} in entry["sites"].get("site-b", {}).get("datasets", [])
    ]
    assert added


def test_a_run_is_refused_where_a_site_lacks_a_dataset(fed: Any, data: None) -> None:
    hosts = sites(fed, [CT_A, CODES], [CT_B])
    before = fed.app_runs()
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    run = fed.play("run", "-e", json.dumps({**given, "flower_run_datasets": ["ct", "codes"]}), hosts=hosts, rc=2)
    words = run.messages("hub", failed=True)
    assert "nothing was submitted" in words and "dataset codes: site-b (pool gpu)" in words, words
    assert "dataset ct" not in words and fed.app_runs() == before
    run = fed.play("run", "-e", json.dumps({**given, "flower_run_datasets": ["ct"]}), hosts=hosts)
    assert "completed" in run.messages("hub") and "dataset ct: site-a, site-b" in run.output
    assert [one["result"]["datasets"] for one in run.results if "datasets" in one["result"]] == [
        {"ct": ["site-a", "site-b"]}
    ]
    fed.settled = False  # the next test begins without datasets


def test_data_goes_only_when_that_is_requested(fed: Any, data: None) -> None:
    """Dropped from the inventory, as the federation is now, then with the site, then with its volumes."""
    assert "dataset-ct" in names(fed, "site-a")
    assert fed.ledger().read(INDEX)["site-a"]["cpu"]["datasets"] == []
    hosts = sites(fed, [CT_A], [])
    teardown = ("--limit", "site-a", "-e", "flower_teardown=true")
    before = len(fed.trail())
    fed.play("teardown", *teardown, hosts=hosts)
    assert "dataset-ct" in names(fed, "site-a") and not fed.pods("site-a")
    kept = fed.noted(fed.recorded(before), "site-a", "volumes", "kept")
    assert {one["claim"] for one in kept} == {f"{fed.namespace}/{name}" for name in names(fed, "site-a")}
    assert {one["choice"] for one in kept} == {"flower_delete_volumes is not set"}
    before = len(fed.trail())
    run = fed.play("teardown", *teardown, "-e", "flower_delete_volumes=true", hosts=hosts)
    told = {change: {one["claim"].rpartition("/")[2] for one in fed.noted(fed.recorded(before), "site-a", "volumes", change)} for change in ("deleted", "kept")}
    assert "dataset-ct" in told["deleted"] and told["kept"] == {"one-pod", "stuck"}, told
    assert names(fed, "site-a") == {"one-pod", "stuck"} and "icd-codes" in names(fed, "site-a", "ConfigMap")
    assert "not known to be of this collection" in run.messages("site-a"), run.messages("site-a")
