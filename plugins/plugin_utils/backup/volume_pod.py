# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pod that has the SuperLink's volume while the SuperLink is not there: the database is put into the volume through it, or read from it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..base.errors import ClusterError
from ..kube import pod_health
from ..kube.client import Cluster
from ..manifests import superlink
from ..manifests.common_objects import metadata
from ..manifests.pod import mount, pod_template, scratch_volume
from ..marks import proof
from ..spec.hub_spec import HubSpec
from .database import Volume

Object = dict[str, Any]
POD = "superlink-restore"
# On the volume claim: the backup of which it gets, or has, the database. Only such a claim is written to.
RESTORED = "federated.flower/restored-from"
_APPLICATION = "superlink-restore"
# The first process of a container ignores signals that it has no handler for. It ends by itself when nothing ends it.
# A pod that an interrupted run leaves ends after a day.
_WAIT = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(86400)"
_PAUSE = 0.5  # seconds between two looks


def claim(spec: HubSpec, source: str) -> Object:
    """The claim that the SuperLink's StatefulSet would create, with the name of the backup."""
    (template,) = superlink.stateful_set(spec)["spec"]["volumeClaimTemplates"]
    meta = {"name": superlink.CLAIM, "namespace": spec.namespace, "labels": template["metadata"]["labels"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**meta, "annotations": {RESTORED: source}},
        "spec": template["spec"],
    }


def claim_fault(live: Mapping[str, Any] | None, source: str) -> str:
    """Why a claim that is there is not written to: a sentence; empty if it may be."""
    if live is None or proof.annotations_of(live).get(RESTORED) == source:
        return ""
    meta = live["metadata"]
    return (
        f"the volume claim {meta['namespace']}/{meta['name']} already exists, and its database is not replaced. A backup is restored "
        "into an emptied hub: delete the claim, or the hub's namespaces, first"
    )


def pod(spec: HubSpec) -> Object:
    """The pod: image, user and place are those of the SuperLink."""
    own = superlink.superlink_container(spec)
    container: Object = {key: own[key] for key in ("name", "image", "imagePullPolicy", "resources", "securityContext") if key in own}
    container["command"] = ["python", "-c", _WAIT]
    container["env"] = [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}]
    container["volumeMounts"] = [mount("data", "/data", read_only=False), mount("scratch", "/tmp", read_only=False)]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": superlink.CLAIM}}, scratch_volume("scratch")]
    template = pod_template(
        spec, _APPLICATION, spec.pods.for_helpers, containers=[container], volumes=volumes, account="default", grace=5, restart="Never"
    )
    # With the users' labels and annotations, which policies of the cluster may demand.
    given = template["metadata"]
    meta = metadata(spec, POD, _APPLICATION, annotations=given.get("annotations"), extra_labels=given["labels"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


def remove(hub: Cluster, spec: HubSpec, seconds: float) -> None:
    """Remove the pod, if it is there, as one that an interrupted run has left: a SuperLink on another node could not use its volume.

    Args:
        seconds: how long its end may take.
    """
    live = hub.get("v1", "Pod", POD, spec.namespace)
    if live is None:
        return
    what = f"{hub.name}: Pod {spec.namespace}/{POD}"
    if not proof.may_delete(live, spec.federation):
        raise ClusterError(f"{what} {proof.holder(live)}: it is not replaced. Delete or rename it")
    hub.delete("v1", "Pod", POD, spec.namespace, uid=live["metadata"]["uid"])
    deadline = time.monotonic() + seconds
    while hub.get("v1", "Pod", POD, spec.namespace) is not None:
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"{what} was deleted and still exists after {seconds:g} s. The SuperLink cannot use its volume until it is gone: check that its node is Ready"
            )
        time.sleep(_PAUSE)


@contextmanager
def running(hub: Cluster, spec: HubSpec, seconds: float) -> Iterator[Volume]:
    """The pod for as long as the block lasts; C(seconds): how long its start, and its end, may take."""
    try:
        remove(hub, spec, seconds)  # an interrupted restore has left one
        hub.create(pod(spec))
        deadline = time.monotonic() + seconds
        while not (live := hub.get("v1", "Pod", POD, spec.namespace)) or live.get("status", {}).get("phase") != "Running":
            if time.monotonic() >= deadline:
                seen = pod_health.describe(live) if live else "it no longer exists"
                raise ClusterError(
                    f"{hub.name}: the pod {spec.namespace}/{POD}, through which a volume of the hub is read or written, does not run after "
                    f"{seconds:g} s; last seen: {seen}. Correct it and run again"
                )
            time.sleep(_PAUSE)
        yield Volume(hub, spec.namespace, POD)
    finally:
        remove(hub, spec, seconds)
