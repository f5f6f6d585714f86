# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the clusters of an Open Cluster Management hub. The only part of the inventory plugin that opens a connection."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import ApiError, Forbidden, NotServed
from ..kube.auth import options_of
from ..kube.client import Cluster
from . import api, statuses
from .clusters import GPU_RESOURCES, is_accepted, is_leaving, name_of, variables

# Options for credentials and transport, not for the hub: never part of the cache key.
_NOT_IDENTITY = ("api_key", "username", "password", "client_cert", "client_key", "proxy_headers", "persist_config")
_FORM = 1  # of a cached answer; change it to invalidate answers of older releases


@dataclass(frozen=True)
class Question:
    """Which clusters are wanted.

    Attributes:
        cluster_sets: names of ManagedClusterSets; clusters of any of them. Empty: of all.
        label_selector: as kubectl takes it; empty for all.
        placement: name of a Placement, whose decisions are read; empty for none.
        placement_namespace: where it is.
        accepted_only: leave out clusters that the hub did not accept.
        gpu_resources: names of resources that count as GPUs.
    """

    cluster_sets: tuple[str, ...] = ()
    label_selector: str = ""
    placement: str = ""
    placement_namespace: str = ""
    accepted_only: bool = True
    gpu_resources: tuple[str, ...] = GPU_RESOURCES

    def key(self, auth: Mapping[str, Any]) -> str:
        """A text that differs when the answer may: for another hub, or another question."""
        hub = {name: value for name, value in options_of(auth).items() if name not in _NOT_IDENTITY}
        if isinstance(hub.get("kubeconfig"), Mapping):
            hub["kubeconfig"] = [entry.get("cluster") for entry in hub["kubeconfig"].get("clusters") or []]
        facts = [_FORM, asdict(self), hub, os.environ.get("KUBECONFIG", "")]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def ask(hub: Cluster, question: Question) -> dict[str, Any]:
    """Clusters as host variables, and remarks for the user.

    Returns:
        C(clusters): list of variables by name, sorted (see clusters.py; with a Placement also those of statuses.py);
        C(remarks): sentences.

    Raises:
        ClusterError: no connection, no Open Cluster Management, a right or an object is missing, a selector is none.
    """
    remarks: list[str] = []
    chosen = _decisions(hub, question, remarks) if question.placement else None
    found = {name_of(one): one for selector in _selectors(hub, question) for one in _clusters(hub, selector, question)}
    names = sorted(name for name in found if chosen is None or name in chosen)
    leaving = [name for name in names if is_leaving(found[name])]
    waiting = [name for name in names if question.accepted_only and name not in leaving and not is_accepted(found[name])]
    if leaving:
        remarks.append(f"being detached, so they are not hosts: {_listed(leaving)}.")
    if waiting:
        remarks.append(
            f"not accepted by the hub, so they are not hosts: {_listed(waiting)}. Accept clusters that are yours with "
            "`clusteradm accept --clusters NAME`, or set their spec.hubAcceptsClient."
        )
    hosts = [variables(found[name], question.gpu_resources) | (chosen or {}).get(name, {}) for name in names if name not in (*leaving, *waiting)]
    return {"clusters": hosts, "remarks": remarks}


def _decisions(hub: Cluster, question: Question, remarks: list[str]) -> dict[str, dict[str, Any]]:
    name, namespace = question.placement, question.placement_namespace
    with _explained(hub, "placements", "get", namespace):
        placement = hub.get(api.PLACEMENTS, "Placement", name, namespace)
    if placement is None:
        raise ClusterError(f"{hub.name}: there is no Placement {name} in the namespace {namespace}.")
    with _explained(hub, "placementdecisions", "list", namespace):
        slices = hub.list(api.PLACEMENTS, "PlacementDecision", namespace, labels=f"{api.PLACEMENT_LABEL}={name}")
    chosen = statuses.decisions(slices)
    if remark := statuses.remark(placement, len(chosen)):
        remarks.append(f"the Placement {name} in the namespace {namespace} {remark}.")
    return chosen


def _selectors(hub: Cluster, question: Question) -> Iterator[str]:
    """One selector per cluster set: the API server has no "or" of selectors."""
    if not question.cluster_sets:
        yield question.label_selector
    for name in question.cluster_sets:
        with _explained(hub, "managedclustersets", "get"):
            cluster_set = hub.get(api.SETS, "ManagedClusterSet", name)
        if cluster_set is None:
            raise ClusterError(f"{hub.name}: there is no ManagedClusterSet {name}.")
        try:
            yield api.joined_selectors(question.label_selector, api.of_set(cluster_set))
        except ValueError as error:
            raise ClusterError(f"{hub.name}: the ManagedClusterSet {name} cannot be used: {error}.") from error


def _clusters(hub: Cluster, selector: str, question: Question) -> list[dict[str, Any]]:
    with _explained(hub, "managedclusters", "list"):
        try:
            return hub.list(api.CLUSTERS, "ManagedCluster", labels=selector)
        except ApiError as error:
            if error.status == 400 and question.label_selector:
                raise ClusterError(
                    f"{hub.name}: the API server does not accept the label_selector {question.label_selector!r}: {error.text}"
                ) from error
            raise


@contextmanager
def _explained(hub: Cluster, resource: str, verb: str, namespace: str = "") -> Iterator[None]:
    """Errors of one request, in terms of Open Cluster Management."""
    try:
        yield
    except NotServed as error:
        raise ClusterError(
            f"{hub.name}: {error.text} Check that {hub.server} is an Open Cluster Management (or Advanced Cluster "
            "Management) hub, and not one of its managed clusters."
        ) from error
    except Forbidden as error:
        place = f"in the namespace {namespace}" if namespace else "on the whole cluster"
        who = f" ({error.user})" if error.user else ""
        raise ClusterError(
            f"{hub.name}: the identity in use{who} may not {verb} {resource}.{api.GROUP} {place}. Ask the hub's "
            "administrators for this right."
        ) from error


def _listed(names: list[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
