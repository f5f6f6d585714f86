# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what is going to read the metrics is there, and can reach them."""

from __future__ import annotations

from ..base.errors import ClusterError
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests.metrics_exporter import MONITOR, OPERATOR, RULES
from ..spec.hub_spec import HubSpec


def require_operator(cluster: Cluster, spec: HubSpec) -> None:
    """Look for the kinds of the Prometheus operator, where they are needed.

    Raises:
        ClusterError: the cluster does not have them.
    """
    if not spec.metrics.has_monitor:
        return
    try:
        for kind in (MONITOR, RULES):
            cluster.resource(OPERATOR, kind)
    except NotServed:
        raise ClusterError(
            f"superlink_metrics.monitor is true, and {cluster.name} has no {MONITOR} and {RULES} ({OPERATOR}): install the Prometheus "
            "operator, or set it to false and give Prometheus the pods and the alert rules yourself (the guide on metrics)"
        ) from None


def warnings(spec: HubSpec) -> list[str]:
    """What works and may not be what is wanted, with the remedy."""
    if spec.metrics.enabled and spec.network_policies and not spec.monitoring_namespaces:
        return [
            "superlink_metrics.enabled is true, and no namespace may read metrics: name that of Prometheus in flower_monitoring_namespaces, or "
            "allow it by a policy of your own"
        ]
    return []
