# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a container in which apps compute which Python packages it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base import package_list, package_program
from ..base.errors import ClusterError
from ..base.object_names import PACKAGE_REPORT, SERVERAPP, SUPEREXEC, SUPERLINK
from ..kube.client import Cluster
from ..ledger.package_index import Held
from . import in_pod

_SECONDS = 60
_REVISIONS = ("controller-revision-hash", "pod-template-hash")
_INSTALLS, _INSTALLS_NOT = (f"--{word}-runtime-dependency-installation" for word in ("allow", "disable"))


def held(
    cluster: Cluster, pods: Sequence[Mapping[str, Any]], containers: Sequence[str], known: Held | None = None
) -> Held | None:
    """What the image of some equal pods holds; None if no pod of them runs.

    Args:
        cluster: a connection to their cluster.
        pods: the pods; one of them is asked.
        containers: names of the container in which apps compute; the first that a pod has.
        known: what was recorded. It is asked again only if the image or the pod's template is another.
    """
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        name = next((name for name in containers if _container(pod, name)), "")
        state = _state(pod, name)
        runs = "running" in (state.get("state") or {})
        if runs and not pod["metadata"].get("deletionTimestamp"):
            return _ask(cluster, pod, name, state, known)
    return None


def _ask(
    cluster: Cluster, pod: Mapping[str, Any], container: str, state: Mapping[str, Any], known: Held | None
) -> Held:
    meta, body = pod["metadata"], _container(pod, container)
    labels = meta.get("labels") or {}
    image, digest = str(body["image"]), str(state.get("imageID") or "")
    revision = next((str(labels[name]) for name in _REVISIONS if name in labels), "")
    args = body.get("args") or []
    # A SuperLink passes its setting on to the ServerApps that it starts itself; a SuperExec and a SuperNode install nothing by default.
    installs = _INSTALLS_NOT not in args if container == SUPERLINK else _INSTALLS in args
    seen = Held(image, digest, revision, installs=installs)
    if known is not None and seen.is_like(known):
        return Held(image, digest, revision, known.listed, installs=installs)
    reported = _reported(pod)
    if reported:
        return Held(image, digest, revision, reported, installs=installs)
    listed, why = "", ""
    try:
        if may_ask(cluster, meta["namespace"], meta["name"]):
            listed = _listed(cluster, meta["namespace"], meta["name"], container)
        else:
            why = f"the right to exec in pod {meta['name']} is missing there"
    except ClusterError as error:
        why = f"pod {meta['name']} could not be asked: {error.message}"
    if why and known is not None and digest and known.digest == digest:
        return Held(
            image, digest, known.revision, known.listed, known.why or why, installs
        )  # asked again the next time
    return Held(image, digest, revision, "" if why else listed, why, installs)


def may_ask(cluster: Cluster, namespace: str, pod: str = "") -> bool:
    """Whether the identity may run a program in a pod, or in any; a request that is refused would stand in audit logs."""
    exec_right = {"verb": "get", "resource": "pods", "subresource": "exec", "namespace": namespace, "name": pod}
    return all(cluster.access_review([exec_right]))


def _listed(cluster: Cluster, namespace: str, pod: str, container: str) -> str:
    output = in_pod.run(cluster, namespace, pod, container, package_program, {}, seconds=_SECONDS)
    if output.rc:
        raise ClusterError(f"its Python cannot list its packages: {output.said}")
    listed = "".join(output.answers).strip()
    try:
        package_list.unpack(listed)
    except ValueError as error:
        raise ClusterError(str(error)) from error
    return listed


def _reported(pod: Mapping[str, Any]) -> str:
    """The list in the status of a pod that reports its packages; empty if it does not."""
    for one in (pod.get("status") or {}).get("initContainerStatuses") or []:
        if one["name"] == PACKAGE_REPORT:
            return str(((one.get("state") or {}).get("terminated") or {}).get("message") or "")
    return ""


def of_serverapp(cluster: Cluster, namespace: str, federation: str = "", known: Held | None = None) -> Held | None:
    """What the ServerApp's image holds: its own pod's, or with subprocess isolation the SuperLink's; None if neither runs.

    Args:
        cluster: a connection to the hub.
        namespace: the SuperLink's.
        federation: the federation's name; empty for any.
        known: see C(held).

    Raises:
        ClusterError: the pods cannot be seen.
    """
    own = f",app.kubernetes.io/instance={federation}" if federation else ""
    for name, containers in ((SERVERAPP, (SUPEREXEC,)), (SUPERLINK, (SUPERLINK,))):
        pods = cluster.list("v1", "Pod", namespace, labels=f"app.kubernetes.io/name={name}{own}")
        if pods:
            return held(cluster, pods, containers, known)
    return None


def _container(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next((one for one in pod["spec"]["containers"] if one["name"] == name), {})


def _state(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    return next((one for one in listed if one["name"] == name), {})
