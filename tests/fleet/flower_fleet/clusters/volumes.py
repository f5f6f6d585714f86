# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The provisioner of a cluster's volumes: each is a directory of the node, made for a claim and removed after it.

Runs as a supervised process of the cluster: ``python -m flower_fleet.clusters.volumes STATE NAME SUBNET``.
"""

from __future__ import annotations

import ipaddress
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..addons.storage import PROVISIONER
from ..settings import cluster as plan
from .api import Api, ApiError

RESYNC = 30  # seconds a watch lasts; everything is compared again after it
CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
# Set by Kubernetes: whose turn it is to make a volume, and whose work a volume is.
ASKED = "volume.kubernetes.io/storage-provisioner"
MADE = "pv.kubernetes.io/provisioned-by"
MODES = {"ReadWriteOnce", "ReadWriteOncePod"}


def waiting(claims: Sequence[dict[str, Any]], volumes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claims that want a volume of this provisioner and have none yet."""
    have = {volume["metadata"]["name"] for volume in volumes}
    return [
        claim
        for claim in claims
        if claim["metadata"].get("annotations", {}).get(ASKED) == PROVISIONER
        and not claim["spec"].get("volumeName")
        and not claim["metadata"].get("deletionTimestamp")
        and set(claim["spec"]["accessModes"]) <= MODES
        and claim["spec"].get("volumeMode", "Filesystem") == "Filesystem"
        and _name(claim) not in have
    ]


def released(claims: Sequence[dict[str, Any]], volumes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Volumes of this provisioner that go with their claims, whose claims are gone."""
    claimless = ""
    live = {claimless, *(claim["metadata"]["uid"] for claim in claims)}
    return [
        volume
        for volume in volumes
        if volume["metadata"].get("annotations", {}).get(MADE) == PROVISIONER
        and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        and volume["spec"].get("claimRef", {}).get("uid", claimless) not in live
    ]


def _name(claim: dict[str, Any]) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def volume(claim: dict[str, Any], folder: Path, node: str, reclaim: str) -> dict[str, Any]:
    """The volume for a claim, bound to it."""
    metadata, spec = claim["metadata"], claim["spec"]
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _name(claim), "annotations": {MADE: PROVISIONER}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": reclaim,
            "hostPath": {"path": str(folder / _name(claim)), "type": "Directory"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }


def provide(api: Api, folder: Path, node: str) -> str:
    """Make and remove volumes so that they fit the claims that there are; returns the version of these claims."""
    # in this order: a volume that is seen has a claim that was there before
    listing = api.request("GET", CLAIMS)
    claims = listing["items"]
    volumes = api.request("GET", VOLUMES)["items"]
    for claim in waiting(claims, volumes):
        kind = api.request("GET", f"{CLASSES}/{claim['spec']['storageClassName']}")
        wanted = volume(claim, folder, node, kind["reclaimPolicy"])
        path = Path(wanted["spec"]["hostPath"]["path"])
        path.mkdir(exist_ok=True)
        path.chmod(0o777)  # pods that are not root mount it, and host paths do not know fsGroup
        api.request("POST", VOLUMES, wanted)
    for item in released(claims, volumes):
        path = folder / item["metadata"]["name"]
        if path.exists():
            shutil.rmtree(path)
        api.delete(f"{VOLUMES}/{item['metadata']['name']}")
    return str(listing["metadata"]["resourceVersion"])


def main(arguments: Sequence[str]) -> None:
    """Serve until killed."""
    state, name, subnet = arguments
    api = Api(plan(name, ipaddress.IPv4Network(subnet)), Path(state) / "pki")
    folder = Path(state) / "volumes"
    while True:
        try:
            version = provide(api, folder, name)
            for _event in api.watch(f"{CLAIMS}?resourceVersion={version}", RESYNC):
                provide(api, folder, name)
        except (OSError, ApiError, ValueError) as error:
            print(f"{time.strftime('%T')} {type(error).__name__}: {error}", flush=True)
            time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1:])
