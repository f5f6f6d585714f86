# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a container in which apps compute which Python packages it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.labels import POOL_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import OUTPUTS_POD_ANNOTATION, SERVERAPP, SUPEREXEC, SUPERLINK, SUPERNODE
from ..kube.client import Cluster
from ..marks import proof
from ..programs import package_program
from . import in_pod
from .cli import FlowerCLI
from .requirements import PackageList

Pod = Mapping[str, Any]

_SECONDS = 60
_APP = "app.kubernetes.io/name"
_INSTALLS, _INSTALLS_NOT = (f"--{word}-runtime-dependency-installation" for word in ("allow", "disable"))


@dataclass(frozen=True)
class Image:
    """The image of a container in which apps compute.

    Attributes:
        name: its reference in the pod.
        packages: what it has; None where apps install their packages when they start.
    """

    name: str
    packages: PackageList | None


def of_serverapp(cli: FlowerCLI, superlink_pod: Pod) -> Image:
    """The image in which ServerApps compute.

    Args:
        cli: Flower's command line on the hub.
        superlink_pod: the SuperLink's pod, which names the pod of ServerApps if outputs are kept there.

    Raises:
        ClusterError: its pod does not run, or cannot be asked.
    """
    hub, namespace = cli.cluster, cli.namespace
    place = (superlink_pod["metadata"].get("annotations") or {}).get(OUTPUTS_POD_ANNOTATION)
    pods: Sequence[Pod]
    if place:
        pods = list(filter(None, [hub.get("v1", "Pod", place, namespace)]))
    elif "subprocess" in (_container(superlink_pod, SUPERLINK).get("args") or []):
        pods = [superlink_pod]
    else:
        pods = hub.list("v1", "Pod", namespace, labels=f"{_APP}={SERVERAPP}")
    return _ask(hub, pods, (SUPEREXEC, SUPERLINK))


def of_pools(cluster: Cluster, namespace: str, federation: str, pools: Collection[str]) -> dict[str, Image | ClusterError]:
    """Pool -> the image in which its ClientApps compute, or why it cannot be asked.

    Args:
        cluster: a connection to the site.
        namespace: the site's.
        federation: the federation's name.
        pools: names of pools.

    Raises:
        ClusterError: the pods cannot be listed.
    """
    pods = cluster.list("v1", "Pod", namespace, labels=proof.pods_query(federation, CLIENTAPP, SUPERNODE))
    found: dict[str, Image | ClusterError] = {}
    for pool in pools:
        own = [pod for pod in pods if proof.labels_of(pod).get(POOL_LABEL) == pool]
        apart = [pod for pod in own if proof.labels_of(pod)[_APP] == CLIENTAPP]
        try:
            found[pool] = _ask(cluster, apart or own, (SUPEREXEC, SUPERNODE))
        except ClusterError as error:
            found[pool] = error
    return found


def _ask(cluster: Cluster, pods: Sequence[Pod], containers: Sequence[str]) -> Image:
    """The image of some equal pods, of which one is asked. Containers: the first of them that a pod has."""
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        name = next((name for name in containers if _container(pod, name)), "")
        if _runs(pod, name):
            break
    else:
        raise ClusterError("none of its pods runs")
    body = _container(pod, name)
    args, image = body.get("args") or [], cleaned(str(body["image"]))
    # A SuperLink passes its setting on to the ServerApps that it starts itself; a SuperExec and a SuperNode install nothing by default.
    if _INSTALLS_NOT not in args if name == SUPERLINK else _INSTALLS in args:
        return Image(image, None)
    meta = pod["metadata"]
    if not in_pod.may_run(cluster, meta["namespace"], meta["name"]):
        raise ClusterError(f"the right to exec in pod {meta['name']} is missing")
    output = in_pod.run(cluster, meta["namespace"], meta["name"], name, package_program, {}, seconds=_SECONDS)
    if output.rc:
        raise ClusterError(f"the Python of pod {meta['name']} cannot list its packages: {output.said}")
    return Image(image, PackageList.read(output.object()))


def _container(pod: Pod, name: str) -> Mapping[str, Any]:
    return next((one for one in pod["spec"]["containers"] if one["name"] == name), {})


def _runs(pod: Pod, container: str) -> bool:
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    running = any(one["name"] == container and "running" in (one.get("state") or {}) for one in listed)
    return running and not pod["metadata"].get("deletionTimestamp")
