# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTTP proxy of a site: whether its credentials exist, and what the tunnel in a pod says of the way through it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster
from ..manifests import tunnel
from ..rotation import site_proof
from ..spec.site_spec import SiteSpec

_SECONDS = 180


class Said(NamedTuple):
    """What the tunnel of a pod says.

    Attributes:
        good: whether the hub answers through the proxy.
        ours: whether the proxy, or this site, is in the way.
        text: what it found, a sentence without its full stop.
    """

    good: bool
    ours: bool
    text: str


def check(cluster: Cluster, spec: SiteSpec, absent: Collection[str] = ()) -> list[str]:
    """Look at the Secret that the user names, before anything is changed. Returns warnings.

    Args:
        absent: namespaces that do not exist yet.

    Raises:
        ClusterError: it does not exist, or lacks an entry.
    """
    own = spec.http_proxy
    if not spec.has_proxy or not own.secret:
        return []
    what = f"Secret {spec.namespace}/{own.secret} (supernode_http_proxy.secret)"
    if spec.namespace in absent:
        raise ClusterError(
            f"{what} does not exist, nor does its namespace: create both first, or set supernode_http_proxy_credentials to have the Secret created."
        )
    try:
        found = cluster.get("v1", "Secret", own.secret, spec.namespace)
    except Forbidden:
        return [f"whether {what} exists is not known: it may not be read here. Without it, SuperNodes do not start"]
    if found is None:
        raise ClusterError(f"{what} does not exist: create it with {own.username_key} and {own.password_key}.")
    lacking = [key for key in (own.username_key, own.password_key) if key not in (found.get("data") or {})]
    if lacking:
        raise ClusterError(
            f"{what} has no entry {' and no entry '.join(lacking)}: add it, or set username_key and password_key of supernode_http_proxy."
        )
    return []


def unseen(spec: SiteSpec) -> list[str]:
    """A warning about that Secret in a cluster that cannot be asked."""
    if not spec.has_proxy or not spec.http_proxy.secret:
        return []
    return [
        f"whether namespace {spec.namespace} has Secret {spec.http_proxy.secret} for its HTTP proxy is not known before the deployment: the "
        "hub cannot look into a managed cluster. If it is missing, SuperNodes do not start, and the message says which"
    ]


def ask(cluster: Cluster, pod: Mapping[str, Any], target: str = "", mark: str = "") -> Said:
    """Have the tunnel of a running pod try the way.

    Args:
        target: the address with which it must run; empty for any.
        mark: that of the credentials with which it must run; empty for any.

    Raises:
        ClusterError: it cannot be asked.
    """
    meta = pod["metadata"]
    command = ["sh", tunnel.PROGRAM, "check", target, mark]
    answer = cluster.exec(meta["namespace"], meta["name"], tunnel.NAME, command, timeout=_SECONDS)
    said = " ".join((answer.stdout or answer.stderr).decode("utf-8", "replace").split())
    return Said(answer.rc == 0, answer.rc == 1, said or f"it ended with code {answer.rc}")


def tried(cluster: Cluster, spec: SiteSpec, pods: Sequence[Mapping[str, Any]], mark: str) -> tuple[str, str]:
    """Whether a running pod reaches the hub through the proxy as the site's objects say now: a fault and a warning, either may be empty.

    Args:
        mark: of the credentials, if they changed.
    """
    running = sorted((pod for pod in pods if _has_tunnel(pod)), key=lambda one: str(one["metadata"]["name"]))
    if not running:
        return "", ""
    name = running[0]["metadata"]["name"]
    try:
        said = ask(cluster, running[0], tunnel.target(spec), mark)
    except ClusterError as error:
        return "", f"whether {name} reaches the hub through the HTTP proxy is not known: its tunnel could not be asked: {error.message}"
    return (f"{name}: {said.text}", "") if said.ours else ("", "" if said.good else f"{name}: {said.text}")


def _has_tunnel(pod: Mapping[str, Any]) -> bool:
    return site_proof.is_running(pod) and any(one["name"] == tunnel.NAME for one in pod["spec"].get("initContainers") or [])


def words(cluster: Cluster, spec: SiteSpec, pods: Sequence[Mapping[str, Any]]) -> str:
    """A sentence for a site whose SuperNodes are not online; empty without a proxy, or where no pod runs."""
    running = [pod for pod in pods if _has_tunnel(pod)] if spec.has_proxy else []
    if not running:
        return ""
    name = running[0]["metadata"]["name"]
    try:
        return f" The tunnel of {name}: {ask(cluster, running[0]).text}."
    except ClusterError as error:
        return f" The log of container {tunnel.NAME} of {name} tells about the HTTP proxy; it could not be asked: {error.message}"
