# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs in a site's cluster."""

from __future__ import annotations

from typing import Any

from ..base.digests import canonical
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.names import CLIENTAPP
from ..base.secret_data import entries
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..kube.stuck_pods import refusal
from ..manifests import clientapp
from ..manifests.skupper import API
from ..pki import library
from ..report import workloads
from ..skupper import network

_MOST = 256 * 1024  # bytes of JSON of what one site reports: the results of all sites are in memory several times


def unknown(*, skupper: bool = False) -> dict[str, Any]:
    """The answer of a site of which nothing is known yet."""
    return {
        "reachable": True,
        "error": "",
        "workloads": [],
        "clientapps": [],
        "trouble": "",
        "skupper": skupper,
        "network": {},
    }


def read(site: Cluster, namespace: str, result: dict[str, Any]) -> None:
    """Read the pools and their pods; completes the result of C(unknown).

    Args:
        site: a connection.
        namespace: the site's.
        result: of C(unknown).

    Raises:
        ClusterError: the cluster does not answer, or refuses, or reports more than any site has.
    """
    selector = f"app.kubernetes.io/name in (supernode,{CLIENTAPP})"
    items = [{"kind": kind, **item} for kind in ("StatefulSet", "DaemonSet") for item in site.list("apps/v1", kind, namespace, labels=selector)]
    for one in items:
        result["clientapps" if clientapp.is_one(one) else "workloads"].append(workloads.workload(one))
    result["trouble"] = cleaned(
        workloads.trouble(
            result["workloads"] + result["clientapps"],
            namespace,
            lambda: site.list("v1", "Pod", namespace, labels=selector),
            lambda: [refusal(site, one) for one in items],
        )
    )
    if result["skupper"]:
        result["network"] = _network(site, namespace)
    if len(canonical(result)) > _MOST:
        result.update(unknown(skupper=result["skupper"]))
        raise ClusterError(
            f"{site.name}: what it reports of its workloads in namespace {namespace} is larger than {_MOST >> 10} KiB. See what is there: "
            f"kubectl get statefulsets,daemonsets,pods -n {namespace}"
        )


def _network(site: Cluster, namespace: str) -> dict[str, Any]:
    library.require()
    links, listeners = (_listed(site, kind, namespace) for kind in ("Link", "Listener"))
    hosts = {str(one["spec"].get("host")) for one in listeners}
    named = {str((one.get("spec") or {}).get("tlsCredentials") or "") for one in links} - {""}
    return network.of_site(
        _listed(site, "Site", namespace),
        links,
        listeners,
        {host: site.get("v1", "Service", host, namespace) for host in hosts},
        {name: entries(site.get("v1", "Secret", name, namespace)) for name in named},
    )


def _listed(site: Cluster, kind: str, namespace: str) -> list[dict[str, Any]]:
    """All objects of one of Skupper's kinds; none where the kind is not served."""
    try:
        return site.list(API, kind, namespace)
    except NotServed:
        return []
