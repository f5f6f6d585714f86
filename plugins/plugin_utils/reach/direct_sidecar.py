# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the sidecars of a site reach the hub with a configuration that was changed under them.

Their pods do not restart for it and stay ready, and the SuperLink counts a SuperNode as online for a minute after it heard of it last. So it is
asked whether a hub that has moved is reached at its new address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.object_names import HAPROXY_CONFIG_DIR
from ..flower import in_pod
from ..kube.client import Cluster
from ..manifests import sidecar
from ..rotation import restart, site_proof
from ..spec.site_spec import SiteSpec

# The kubelet brings the file within two minutes. Then the watcher sees it within two seconds, and HAProxy reloads.
_LOADED = f"""
tries=0
until [ "$(sha256sum < {HAPROXY_CONFIG_DIR}/haproxy.cfg)" = "$0  -" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 120 ] || exit 1
  sleep 1
done
sleep 5
"""
_SECONDS = 150


def is_changed(entry: Mapping[str, str]) -> bool:
    """Whether this object of a result is the configuration of sidecars that ran with another one."""
    return entry["kind"] == "ConfigMap" and entry["name"] == sidecar.CONFIG and entry["change"] == "changed"


def tried(cluster: Cluster, spec: SiteSpec, pods: Sequence[Mapping[str, Any]], seconds: float) -> tuple[str, str]:
    """Whether a running pod reaches the hub as the site's objects say now: a fault and a warning, either may be empty.

    Args:
        seconds: how long it may take; what publishes the hub may have to start.
    """
    running = [pod for pod in pods if site_proof.is_running(pod) and site_proof.has_sidecar(pod)]
    if not running:
        return "", ""
    pod = min(running, key=lambda one: str(one["metadata"]["name"]))
    name = pod["metadata"]["name"]
    if not in_pod.may_run(cluster, spec.namespace, name):
        return "", f"whether {name} reaches the hub at {spec.superlink_address} is not known: the right to exec in it is missing"
    try:
        command = ["sh", "-c", _LOADED, site_proof.digest(sidecar.configuration(spec))]
        if cluster.exec(pod["metadata"]["namespace"], name, site_proof.SIDECAR, command, timeout=_SECONDS).rc != 0:
            return "", f"whether {name} reaches the hub at {spec.superlink_address} is not known: its sidecar does not have the new configuration yet"
        said = _asked(cluster, spec, pod, seconds)
    except ClusterError as error:
        return "", f"whether {name} reaches the hub at {spec.superlink_address} is not known: its sidecar could not be asked: {error.message}"
    if not said:
        return "", ""
    return (
        f"its SuperNodes do not reach the hub at {spec.superlink_address} any more: {name}: {said}. For a minute, they still count as online. Correct "
        "superlink_exposure, superlink_host or superlink_address of the hub, or what lies between, and run again."
    ), ""


def _asked(cluster: Cluster, spec: SiteSpec, pod: Mapping[str, Any], seconds: float) -> str:
    """Why the sidecar does not reach the hub; empty where it does."""
    request = site_proof.request(pod, spec.verified_name, {site_proof.NOW: ""}, 0)
    clock = Clock(seconds)
    while True:
        seen = restart.held(cluster, pod, site_proof.CONTAINER, request)["seen"][site_proof.NOW]
        if seen.get("serial"):
            return ""
        if not clock.tick():
            return site_proof.said(seen)
