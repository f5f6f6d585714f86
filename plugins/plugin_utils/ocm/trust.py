# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The trust of a site that is reached through Open Cluster Management: which CAs its SuperNodes accept."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any

from ..apply.engine import apply_objects
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.object_names import TRUST_CONFIG
from ..hub.authority import trust_bundle
from ..kube.client import Cluster
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, leaving, nodes_work
from . import work as works

# A kubelet updates a changed ConfigMap after somewhat more than a minute (its sync period and its cache), and HAProxy then reloads.
SETTLES = 90.0
_OURS = ("labels", "annotations", "ownerReferences", "name", "namespace")


def with_trust(work: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
    """A ManifestWork with another trust, as it is applied; None when it has this one already. Pure."""
    wanted = copy.deepcopy(dict(work["spec"]))
    for item in wanted["workload"]["manifests"]:
        if (item.get("kind"), item["metadata"]["name"]) == ("ConfigMap", TRUST_CONFIG):
            if trust_bundle(item["data"].get("ca.crt", "")) == trust_bundle(bundle):
                return None
            item["data"]["ca.crt"] = bundle
            meta = {key: work["metadata"][key] for key in _OURS if work["metadata"].get(key)}
            return {"apiVersion": api.WORKS, "kind": "ManifestWork", "metadata": meta, "spec": wanted}
    raise ClusterError(
        f"the ManifestWork {work['metadata']['name']} has no ConfigMap {TRUST_CONFIG}: run site.yml for this site"
    )


def held(work: Mapping[str, Any] | None) -> str:
    """The CA bundle in a ManifestWork, PEM; empty where it has none. Pure."""
    for item in work["spec"]["workload"]["manifests"] if work else ():
        if (item.get("kind"), item["metadata"]["name"]) == ("ConfigMap", TRUST_CONFIG):
            return str(item["data"].get("ca.crt", ""))
    return ""


def bring(
    hub: Cluster, spec: SiteSpec, bundle: str, seconds: float, *, check: bool = False
) -> tuple[str, list[dict[str, str]]]:
    """Have a site trust these CAs, and wait for as long as its pods need to notice.

    Args:
        hub: a connection.
        spec: the site. Another federation may have one of the same name in the same cluster.
        bundle: PEM; empty to leave its trust alone.
        seconds: how long its agent may take.
        check: nothing is written.

    Returns:
        The CA bundle of the cluster now, and the changes of its ManifestWork in the format of C(apply); nothing if unchanged.

    Raises:
        ClusterError: nothing is delivered to it, or its agent does not take it over in time.
    """
    name, cluster = addon_objects.work_name(spec, nodes_work.PART), spec.ocm_cluster
    live = hub.get(api.WORKS, "ManifestWork", name, cluster)
    if live is None or leaving.site_of(live) != spec.cluster:
        raise ClusterError("nothing is delivered to it through Open Cluster Management: run site.yml for this site")
    wanted = with_trust(live, bundle) if bundle else None
    objects = apply_objects(hub, [wanted], check=check).objects if wanted else []
    if check:
        return (bundle if wanted else held(live)), objects
    clock = Clock(seconds)
    while True:
        live = hub.get(api.WORKS, "ManifestWork", name, cluster) or {}
        there = works.applied(live or None)
        if there.done:
            break
        if not clock.tick():
            raise ClusterError(f"its cluster {cluster} has not applied its CA bundle: {there.why}")
    if wanted:
        time.sleep(SETTLES)
    return held(live), objects
