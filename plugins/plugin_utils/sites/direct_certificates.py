# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and keys at a site that is reached directly: deploy its CA bundle, test what SuperNodes accept, and restart pods that run with outdated files.

Their pods do not restart for it and stay ready, and the SuperLink counts a SuperNode as online for a minute after it heard of it last. So it is
asked whether a hub that has moved is reached at its new address.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.names import CLIENTAPP, keys_secret
from ..base.object_names import HAPROXY_CONFIG_DIR, SUPEREXEC, SUPERNODE, TRUST_CONFIG
from ..flower import in_pod
from ..kube import stuck_pods
from ..kube.client import Cluster
from ..manifests import sidecar
from ..marks import proof
from ..rights import ask
from ..rights.need import ROTATE
from ..rotation import outdated_pods, site_proof
from ..rotation.authority import trust_bundle
from ..rotation.hub_steps import apply_trust
from ..site_keys import keys
from ..spec.site_spec import SiteSpec
from .site import Run, Site

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

# What can be replaced -> the option of the process that names its file.
FILES = {
    "trust": "--root-certificates",
    "key": "--auth-supernode-private-key",
    "superexec": "--superexec-auth-secret-file",
    "loopback": "--root-certificates",
}
# Container -> what it reads.
_READS = {site_proof.CONTAINER: tuple(FILES), SUPEREXEC: ("superexec", "loopback")}

_SLICE = 30  # seconds of one exec: load balancers cut connections that are silent for a minute
_EACH = 2  # seconds for the exec in a pod that answers at once


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
    unknown = f"cannot determine whether {name} reaches the hub at {spec.superlink_address}: "
    if not in_pod.may_run(cluster, spec.namespace, name):
        return "", f"{unknown}the right to exec in it is missing"
    try:
        command = ["sh", "-c", _LOADED, site_proof.file_digest(sidecar.configuration(spec))]
        if cluster.exec(pod["metadata"]["namespace"], name, site_proof.SIDECAR, command, timeout=_SECONDS).rc != 0:
            return "", f"{unknown}its sidecar does not have the new configuration yet"
        request = site_proof.probe_request(pod, spec.verified_name, {site_proof.NOW: ""}, 0)
        clock = Clock(seconds)
        while True:
            seen = site_proof.seen_by(outdated_pods.run_site_program(cluster, pod, site_proof.CONTAINER, request), [site_proof.NOW])[site_proof.NOW]
            if seen.get("serial"):
                return "", ""
            if not clock.tick():
                break
    except ClusterError as error:
        return "", f"{unknown}its sidecar could not be queried: {error.message}"
    return (
        f"its SuperNodes do not reach the hub at {spec.superlink_address} any more: {name}: {site_proof.describe_probe(seen)}. For a minute, they "
        "still count as online. Correct superlink_exposure, superlink_host or superlink_address of the hub, or the network path, and run again."
    ), ""


def old(
    cluster: Cluster,
    site: Site,
    files: Sequence[str],
    secret_digests: Callable[[str], Mapping[str, str]],
    *,
    check: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """Pool -> pods that run with older files.

    Args:
        site: whose pods these are. Those of others in its namespace are not asked.
        files: keys of C(FILES).
        secret_digests: gives entry -> digest of a Secret.
        check: check mode, in which files of a pod may not exist yet.
    """
    found: dict[str, list[dict[str, Any]]] = {}

    @functools.cache
    def digests(kind: str, name: str) -> Mapping[str, str]:
        if kind == "Secret":
            return secret_digests(name)
        data = (cluster.get("v1", kind, name, site.namespace) or {}).get("data") or {}
        return {entry: site_proof.file_digest(value) for entry, value in data.items()}

    def is_old(pod: dict[str, Any], container: str) -> bool:
        wanted = {}
        for path, (kind, name), entry in _places(pod, container, files):
            if entry not in digests(kind, name):
                if check:
                    return True  # what it will read does not exist yet
                raise ClusterError(f"{kind} {site.namespace}/{name} on {cluster.name} has no entry {entry}")
            wanted[path] = digests(kind, name)[entry]
        return outdated_pods.is_outdated(cluster, pod, container, wanted)

    for pod in cluster.list("v1", "Pod", site.namespace, labels=proof.pods_query(site.federation, SUPERNODE, CLIENTAPP)):
        # The SuperNode, and the SuperExec beside it or in the pod of a ClientApp. Each may restart alone.
        present = {container["name"] for container in pod["spec"]["containers"]}
        if any(is_old(pod, name) for name in _READS if name in present):
            found.setdefault(site_proof.key_of_pod(pod)[0], []).append(pod)
    return dict(sorted(found.items()))


def _places(pod: dict[str, Any], container: str, files: Sequence[str]) -> list[tuple[str, tuple[str, str], str]]:
    """Path, the object that it comes from, and the entry, of those of C(files) that a container reads."""
    pool, name = site_proof.key_of_pod(pod)
    places = {
        "trust": (("ConfigMap", TRUST_CONFIG), "ca.crt"),
        "key": (("Secret", keys_secret(pool)), name),
        "superexec": (("Secret", keys.SUPEREXEC), "secret"),
        "loopback": (("Secret", keys.LOCAL_TLS), "ca.crt"),
    }
    # Both have the same option. A SuperNode without a sidecar trusts the hub; one with it, and a ClientApp in its own pod, the sidecar.
    trusts_hub = container == site_proof.CONTAINER and not site_proof.has_sidecar(pod)
    other = "loopback" if trusts_hub else "trust"
    found = []
    for kind in files:
        path = site_proof.container_argument(pod, FILES[kind], container)
        if path and kind in _READS[container] and kind != other:
            found.append((path.rpartition("$(")[0] + name if "$(" in path else path, *places[kind]))
    return found


def prove(run: Run, cluster: Cluster, site: Site, wanted: site_proof.Proof, result: dict[str, Any]) -> None:
    """Deploy the CA bundle and ask every running SuperNode that must answer; see C(site.SiteBackend.trust) for what is filled in.

    Args:
        site: whose SuperNodes are asked. Pods of others in its namespace are not.

    Raises:
        ClusterError: the site does not answer, or its trust cannot be changed.
    """
    if wanted.first:
        ask.require(cluster, ask.rights_of_work(SUPERNODE, ROTATE, site.namespace))
    live = cluster.get("v1", "ConfigMap", TRUST_CONFIG, site.namespace)
    if live is None:
        raise ClusterError(
            f"{cluster.name} has no ConfigMap {site.namespace}/{TRUST_CONFIG}: run site.yml for this site, or correct supernode_namespace"
        )
    trust, pods = live["data"].get("ca.crt", ""), proof.pods_query(site.federation, SUPERNODE)
    result.update(changed=False, trust=trust)
    if wanted.bundle and trust_bundle(trust) != wanted.bundle:
        if wanted.own_bundle:
            require_own(trust, wanted.bundle)
        elif not run.check:
            run.note(site.name, objects=apply_trust(cluster, live, wanted.bundle))
            stuck_pods.touch_pods(cluster, site.namespace, pods)
        result["changed"] = not wanted.own_bundle
        if wanted.own_bundle or not run.check:
            trust = wanted.bundle
    result["trust"] = trust
    deadline = time.monotonic() + (0 if run.check else wanted.seconds)
    running = {site_proof.key_of_pod(pod): pod for pod in cluster.list("v1", "Pod", site.namespace, labels=pods) if site_proof.is_running(pod)}
    asked = [running[key] for one in wanted.expected if (key := (one["pool"], one["name"])) in running]
    for pod in asked:
        result["pods"].append(_ask_pod(cluster, pod, wanted, deadline, deadline + _SLICE + _EACH * len(asked), trust))
    accepts, trouble = site_proof.judge(wanted.expected, result["pods"], wanted.wanted)
    result.update(accepts=accepts, trouble=trouble, stale=any(pod["stale"] for pod in result["pods"]))


def require_own(trusted: str, bundle: str) -> None:
    """Refuse a CA bundle that is set by the variables of a site, as deployed, and lacks a CA of C(bundle): the next deployment would bring it back."""
    present = trust_bundle(trusted)
    if trust_bundle(present, bundle) != present:
        raise ClusterError(
            "its CA bundle is set by supernode_ca_bundle, which lacks a CA of the hub: add what ConfigMap flower-federation "
            "of the hub has as ca.crt, run site.yml for this site, then run this again"
        )


def _ask_pod(cluster: Cluster, pod: Mapping[str, Any], wanted: site_proof.Proof, deadline: float, end: float, trust: str) -> dict[str, Any]:
    """The entry of a pod in the report of its site. After C(deadline), it gets no time to accept what is wanted; after C(end), no pod is asked."""
    pool, name = site_proof.key_of_pod(pod)
    report = {"pod": pod["metadata"]["name"], "pool": pool, "name": name, "seen": {}, "stale": False, "error": ""}
    while True:
        if time.monotonic() >= end:
            late = "it was not asked, because the SuperNodes before it took too long. Find out why, or set cert_rotation_proof_timeout higher"
            return report | {"error": late}
        seconds = max(min(deadline - time.monotonic(), _SLICE), 1)
        asked = site_proof.probe_request(pod, wanted.server_name, wanted.wanted, seconds)
        try:
            answer = outdated_pods.run_site_program(cluster, pod, site_proof.CONTAINER, asked, seconds + 60)
        except ClusterError as error:
            return report | {"error": error.message}
        stale = site_proof.is_stale(answer, trust)
        seen = site_proof.seen_by(answer, wanted.wanted)
        wrong = [label for label, serial in wanted.wanted.items() if serial and seen[label].get("serial") != serial]
        if stale or not wrong or time.monotonic() >= deadline:
            return report | {"seen": seen, "stale": stale}
