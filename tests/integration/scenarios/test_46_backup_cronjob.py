# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/backup-cronjob on the hub, applied as its README says: Jobs of the CronJob leave archives that the key opens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyrage
import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.backup import hub_archive
from ansible_collections.federated.flower.tests.integration.scenarios.kubectl import Kubectl
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

EXAMPLE = Path(__file__).parents[3] / "examples" / "backup-cronjob"
THERE, SPACE = "flower-backup", f"{NAMESPACE}-nightly"  # the namespace of the example, and the one that takes its place
ACCOUNT = {"kind": "ServiceAccount", "name": "flower-backup", "namespace": SPACE}
pytestmark = pytest.mark.soak


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def written(path: Path, items: list[dict[str, Any]]) -> None:
    path.write_text(yaml.safe_dump_all(items), encoding="utf-8")


def fitted(fed: Any, home: Path, rights: Path) -> None:
    """Change the example as users do: namespaces, inventory and rights."""
    shutil.copytree(EXAMPLE, home)
    for name in ("namespace.yml", "account.yml", "volume.yml", "cronjob.yml", "kustomization.yml"):
        items = documents(home / name)
        for item in items:
            for meta in (item.get("metadata", {}), *item.get("configMapGenerator", [])):
                if item["kind"] == "Namespace":
                    meta["name"] = SPACE
                elif meta.get("namespace") == THERE:
                    meta["namespace"] = SPACE
        written(home / name, items)
    (inventory,) = documents(home / "fleet.yml")
    given = {name: value for name, value in fed.common.items() if not name.startswith("ansible_") and name != "flower_kubeconfig"}
    hub = inventory["all"]["children"]["flower_hub"]["hosts"]["hub"]
    hub.update(given, flower_backup_keep=1)
    written(home / "fleet.yml", [inventory])
    written(home / "rights.yml", [item for item in documents(rights) if item["metadata"]["name"] == "flower-hub-backup"])


@pytest.fixture(scope="module")
def nightly(
    federation: Any, fleet_command: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, Kubectl, Any]]:
    """The federation, kubectl for its hub, and the key that opens archives. The example is applied."""
    fleet_command("image", "awx-project")
    fed, folder, key = federation, tmp_path_factory.mktemp("nightly"), pyrage.x25519.Identity.generate()
    fed.settle()
    rights = json.dumps({"flower_rbac_backup": ACCOUNT, "flower_rbac_directory": str(folder / "rights")})
    fed.play("rbac", "-e", rights)
    fitted(fed, folder / "nightly", folder / "rights" / "hub.yml")
    kubectl = Kubectl(fed, "hub")
    kubectl("apply", "-k", str(folder / "nightly"))
    literal = f"--from-literal=recipients={key.to_public()}"
    kubectl("-n", SPACE, "create", "secret", "generic", "flower-backup-recipients", literal)
    yield fed, kubectl, key
    kubectl("delete", "-k", str(folder / "nightly"), "--wait=false")


def job(kubectl: Kubectl, name: str) -> str:
    """Run a Job of the CronJob; what it printed."""
    kubectl("-n", SPACE, "create", "job", "--from=cronjob/flower-backup", name)
    try:
        kubectl("-n", SPACE, "wait", "--for=condition=complete", f"job/{name}", "--timeout=240s", seconds=300)
    finally:
        said = kubectl("-n", SPACE, "logs", f"job/{name}")
        print(said, kubectl("-n", SPACE, "get", "pods", "-o", "wide"))
    return said


def test_jobs_leave_archives_that_the_key_opens(nightly, tmp_path):
    fed, kubectl, key = nightly
    assert "wrote /backups/flower-backup-" in job(kubectl, "first")
    said = job(kubectl, "second")
    assert "removed flower-backup-" in said, said
    note = json.loads(fed.hub.get("v1", "ConfigMap", "flower-backup", NAMESPACE)["data"]["ledger.json"])

    # Someone who may read the volume takes the archive away.
    cron = documents(EXAMPLE / "cronjob.yml")[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = cron["containers"]
    container.update(command=["sleep", "600"], args=[], env=[])
    cron["volumes"] = [volume for volume in cron["volumes"] if volume["name"] != "inventory"]
    container["volumeMounts"] = [entry for entry in container["volumeMounts"] if entry["name"] != "inventory"]
    body = {**cron, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}
    fed.hub.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader", "namespace": SPACE}, "spec": body})
    kubectl("-n", SPACE, "wait", "--for=condition=ready", "pod/reader", "--timeout=90s")
    listed = fed.hub.exec(SPACE, "reader", None, ["ls", "/backups"]).stdout.decode().split()
    assert listed == [note["archive"], f"{note['archive']}.sha256"], listed
    for name in listed:
        (tmp_path / name).write_bytes(fed.hub.exec(SPACE, "reader", None, ["cat", f"/backups/{name}"], timeout=120).stdout)
    assert hub_archive.proven(tmp_path / note["archive"], key).content["namespace"] == NAMESPACE


# Without the namespaces' names: all workers of pytest-xdist have to have the same tests.
PLACES = {"hub": NAMESPACE, "ca": CA_NAMESPACE, "backup": SPACE, "cluster": ""}


@pytest.mark.parametrize(("verb", "resource", "place"), [
    ("get", "secrets", "hub"), ("delete", "secrets", "hub"), ("create", "pods", "hub"), ("delete", "pods", "hub"),
    ("update", "configmaps", "hub"), ("create", "secrets", "ca"), ("list", "secrets", "backup"), ("list", "nodes", "cluster"),
])  # fmt: skip
def test_the_account_may_do_nothing_else(nightly, verb, resource, place):
    fed, _kubectl, _key = nightly
    where = {"verb": verb, "resource": resource, "namespace": PLACES[place]}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": f"system:serviceaccount:{SPACE}:flower-backup"}}
    review["spec"]["resourceAttributes"] = where
    answer = fed.hub.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=review)
    assert answer["status"]["allowed"] is False, answer
