# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what decides whether a site's datasets can be mounted; C(preflight/dataset_checks.py) judges it."""

from __future__ import annotations

from collections.abc import Collection

from ..apply.wait import Waiter
from ..base.problems import Problem
from ..base.values import Object
from ..kube import volume_classes
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster
from ..manifests import datasets
from ..preflight import dataset_checks
from ..spec.site_spec import SiteSpec

_CLAIM = "PersistentVolumeClaim"


def check(cluster: Cluster, spec: SiteSpec, absent: Collection[str] = ()) -> list[Problem]:
    """Check the datasets of a site; nothing is read where there are none. C(absent): namespaces that do not exist yet."""
    uses = dataset_checks.uses(spec)
    if not uses:
        return []
    seen = _read(cluster, spec, uses)
    seen.is_namespace_missing = spec.namespace in absent
    return list(dataset_checks.check(spec, seen))


def _read(cluster: Cluster, spec: SiteSpec, uses: list[dataset_checks.Use]) -> dataset_checks.Seen:
    seen = dataset_checks.Seen()
    for one in (use.dataset for use in uses):
        for kind, name in (("Secret", one.secret), ("ConfigMap", one.config_map)):
            if name:
                found: dict[str, Object | None] = {}
                _get(cluster, found, "v1", kind, name, spec.namespace)
                seen.files |= {(kind, key): item is not None for key, item in found.items()}
        if one.claim_name:
            _get(cluster, seen.claims, "v1", _CLAIM, one.claim_name, spec.namespace)
        if one.volume is not None:
            _get(cluster, seen.volumes, "v1", "PersistentVolume", datasets.volume_name(spec, one))
        if one.new_claim is not None and one.new_claim.storage_class:
            _get(cluster, seen.classes, volume_classes.API, volume_classes.KIND, one.new_claim.storage_class)
    new = [one.dataset for one in uses if one.dataset.new_claim is not None and not one.dataset.new_claim.storage_class]
    if any(seen.claims.get(one.claim_name, one) is None for one in new):
        known = volume_classes.listed(cluster)
        seen.has_default = None if known is None else any(known.values())
    several = dataset_checks.several_pods(spec)
    for name, claim in seen.claims.items():
        if claim is not None:
            _read_around(cluster, name, claim, seen, placed=several)
    if several:
        try:
            seen.nodes = cluster.list("v1", "Node")
        except Forbidden:
            seen.nodes = None
    return seen


def _read_around(cluster: Cluster, name: str, claim: Object, seen: dataset_checks.Seen, *, placed: bool) -> None:
    """What decides about a claim that exists: its class; its volume, if it matters where that is; why it is not bound."""
    body = claim["spec"]
    if body.get("storageClassName"):
        _get(cluster, seen.classes, volume_classes.API, volume_classes.KIND, body["storageClassName"])
    if placed and body.get("volumeName"):
        _get(cluster, seen.volumes, "v1", "PersistentVolume", body["volumeName"])
    if (claim.get("status") or {}).get("phase") != "Bound":
        seen.events[name] = Waiter(cluster, 0).events([claim])


def _get(
    cluster: Cluster,
    into: dict[str, Object | None],
    api_version: str,
    kind: str,
    name: str,
    namespace: str | None = None,
) -> None:
    """Read an object once. What may not be read stays unknown, and the checks say so."""
    if name in into:
        return
    try:
        into[name] = cluster.get(api_version, kind, name, namespace)
    except Forbidden:
        return
