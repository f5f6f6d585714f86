# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""New shared secrets at a site that is reached through the hub, and the restart of SuperNodes that read an older key or secret.

A pod there can neither be queried nor deleted. But the site reports digests of its Secrets' content, and a change of
the pods' template makes their StatefulSet replace them, one after the other. So the template has a digest of these digests,
set when a key or secret was renewed, and kept by every other run: keys that join a pool restart no pod.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..apply.engine import apply_objects
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.names import keys_secret
from ..kube.client import Cluster
from ..site_keys import keys, public
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, key_work, nodes_work
from .through_hub import ThroughHub


def place(hub: Cluster, spec: SiteSpec, seconds: float, *, check: bool = False) -> ThroughHub:
    """The way to the job of a site to which SuperNodes were delivered."""
    work = _live(hub, spec, key_work.PART)
    listed = ((((work or {}).get("spec") or {}).get("workload") or {}).get("manifests")) or []
    first = [item for item in listed if item.get("kind") == "Namespace"]
    return ThroughHub(hub, spec, lambda: _addon(hub, spec), first=first, seconds=seconds, check=check)


def _addon(hub: Cluster, spec: SiteSpec) -> dict[str, Any]:
    found = hub.get(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, spec.ocm_cluster)
    if found is None:
        raise ClusterError(
            f"{spec.cluster}: the managed cluster {spec.ocm_cluster} does not have the add-on {spec.ocm_addon}: deploy the "
            "site first."
        )
    return found


def _live(hub: Cluster, spec: SiteSpec, part: str) -> dict[str, Any] | None:
    return hub.get(api.WORKS, "ManifestWork", addon_objects.work_name(spec, part), spec.ocm_cluster)


def mark(spec: SiteSpec, reported: public.Public, trusted: str = "") -> str:
    """The mark in the pods' template when all pods run with the current Secrets; C(trusted): and this CA bundle, if they read it at their start."""
    read = sorted([keys.SUPEREXEC, *(keys_secret(pool.name) for pool in spec.pools)])
    held: list[Any] = [[name, sorted(reported.digests.get(name, {}).items())] for name in read]
    if trusted and not spec.has_sidecar:
        held.append(trusted)
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:12]


def old(hub: Cluster, spec: SiteSpec, wanted: str) -> list[str]:
    """Names of the pods that do not have the mark yet."""
    live = _live(hub, spec, nodes_work.PART)
    return [] if nodes_work.mark_of(live) == wanted else nodes_work.pod_names(live)


def restart(hub: Cluster, spec: SiteSpec, wanted: str, seconds: float) -> None:
    """Have all pods replaced, and wait until those that take their place are ready.

    Raises:
        ClusterError: they are not ready in time.
    """
    live = _live(hub, spec, nodes_work.PART)
    if live is None:
        return  # deleted meanwhile, and the pods with it
    clock = Clock(seconds)
    apply_objects(hub, [nodes_work.remarked(live, wanted)])
    while True:
        work: Mapping[str, Any] | None = _live(hub, spec, nodes_work.PART)
        state = nodes_work.state(work)
        if state.ready:
            return
        if not clock.tick():
            why = "; ".join(filter(None, [state.why, nodes_work.trouble(work)]))
            raise ClusterError(
                f"pods of the managed cluster {spec.ocm_cluster} are being restarted and are not ready after {clock.seconds:g} s: {why}"
            )
