# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of everything that this collection creates. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "federated.flower"
PART_OF = "flower"
POOL_LABEL = "federated.flower/pool"
# Of a ManagedCluster, followed by the federation's name: the version of the ClientApps that the cluster has (ocm/replica_set.py).
CLIENTAPP_LABEL = "clientapp.federated.flower/"


def query(labels: Mapping[str, str]) -> str:
    """A label selector in the form in which requests to an API server have it: C(a=1,b=2)."""
    return ",".join(f"{key}={value}" for key, value in labels.items())


def selector(federation: str, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels that select the pods of a workload. Never the version: selectors of workloads can't be changed later."""
    picked = {
        "app.kubernetes.io/component": component or name,
        "app.kubernetes.io/instance": federation,
        "app.kubernetes.io/name": name,
    }
    if pool is not None:
        picked[POOL_LABEL] = pool
    return picked


def own_pods(federation: str, name: str, *, pool: str | None = None) -> dict[str, str]:
    """Labels that select pods of this collection only: other makers of SuperLinks and SuperNodes have the names of C(selector), too.

    For everything that may change its selector: Services, network policies and disruption budgets.
    """
    return dict(sorted({**selector(federation, name, pool=pool), _MANAGED_BY: MANAGER}.items()))


def record_labels(federation: str, name: str, component: str) -> dict[str, str]:
    """Labels of an object that outlives releases: none of them has a version."""
    return {
        **selector(federation, name, component),
        _MANAGED_BY: MANAGER,
        "app.kubernetes.io/part-of": PART_OF,
    }
