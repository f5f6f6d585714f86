# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deploy a site's CA bundle, and test which certificates its SuperNodes accept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERNODE, TRUST_CONFIG
from ..hub.authority import trust_bundle
from ..kube import refresh
from ..kube.client import Cluster
from ..marks import proof
from ..rights import ask, fixed_rights
from ..rights.need import ROTATE
from ..rotation import restart, site_proof
from ..rotation.hub_steps import apply_trust
from .site import Run, Site

_SLICE = 30  # seconds of one exec: load balancers cut connections that are silent for a minute


def prove(run: Run, cluster: Cluster, site: Site, wanted: site_proof.Proof, result: dict[str, Any]) -> None:
    """Deploy the CA bundle and ask every running SuperNode; see C(reach.site.Reach.trust) for what is filled in.

    Args:
        run: the run.
        cluster: a connection to the site's cluster.
        site: whose SuperNodes are asked. Pods of others in its namespace are not.
        wanted: what to test.
        result: filled in as it goes.

    Raises:
        ClusterError: the site does not answer, or its trust cannot be changed.
    """
    if wanted.first:
        ask.require(cluster, fixed_rights.rights_of_work(SUPERNODE, ROTATE, site.namespace))
    pods = proof.pods_query(site.federation, SUPERNODE)
    result["changed"] = _bring(run, cluster, site, pods, wanted, result)
    deadline = time.monotonic() + (0 if run.check else wanted.seconds)
    for pod in cluster.list("v1", "Pod", site.namespace, labels=pods):
        if site_proof.is_running(pod):
            result["pods"].append(_ask_pod(cluster, pod, wanted, deadline, result["trust"]))
    accepts, trouble = site_proof.judge(wanted.expected, result["pods"], wanted.wanted)
    result.update(accepts=accepts, trouble=trouble, stale=any(pod["stale"] for pod in result["pods"]))


def _bring(run: Run, cluster: Cluster, site: Site, pods: str, wanted: site_proof.Proof, result: dict[str, Any]) -> bool:
    """Put the trust into the site's ConfigMap, which C(pods) mount; returns whether it differed."""
    live = cluster.get("v1", "ConfigMap", TRUST_CONFIG, site.namespace)
    if live is None:
        raise ClusterError(
            f"{cluster.name} has no ConfigMap {site.namespace}/{TRUST_CONFIG}: run site.yml for this site, or correct supernode_namespace"
        )
    result["trust"] = live["data"].get("ca.crt", "")
    if not wanted.bundle or trust_bundle(result["trust"]) == wanted.bundle:
        return False
    if wanted.own_bundle:
        require_own(result["trust"], wanted.bundle)
        result["trust"] = wanted.bundle
        return False
    if not run.check:
        run.note(site.name, objects=apply_trust(cluster, live, wanted.bundle))
        refresh.touch_pods(cluster, site.namespace, pods)
        result["trust"] = wanted.bundle
    return True


def require_own(trusted: str, bundle: str) -> None:
    """Refuse a CA bundle that is set by the variables of a site, as deployed, and lacks a CA of C(bundle): the next deployment would bring it back."""
    held = trust_bundle(trusted)
    if trust_bundle(held, bundle) != held:
        raise ClusterError(
            "its CA bundle is set by supernode_ca_bundle, which lacks a CA of the hub: add what ConfigMap flower-federation "
            "of the hub has as ca.crt, run site.yml for this site, then run this again"
        )


def _ask_pod(cluster: Cluster, pod: Mapping[str, Any], wanted: site_proof.Proof, deadline: float, trust: str) -> dict[str, Any]:
    pool, name = site_proof.place(pod)
    said = {"pod": pod["metadata"]["name"], "pool": pool, "name": name, "seen": {}, "stale": False, "error": ""}
    while True:
        seconds = max(min(deadline - time.monotonic(), _SLICE), 1)
        asked = site_proof.request(pod, wanted.server_name, wanted.wanted, seconds)
        try:
            answer = restart.held(cluster, pod, site_proof.CONTAINER, asked, seconds + 60)
        except ClusterError as error:
            return said | {"error": error.message}
        stale = site_proof.is_stale(answer, trust)
        seen = answer["seen"]
        wrong = [label for label, serial in wanted.wanted.items() if serial and seen[label].get("serial") != serial]
        if stale or not wrong or time.monotonic() >= deadline:
            return said | {"seen": seen, "stale": stale}
