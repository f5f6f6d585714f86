# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of the federation for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from .fields import Amounts, Flag, Listed, Parsed, Text


@dataclass(frozen=True)
class Metrics(Parsed):
    """The exporter.

    Attributes:
        image: its image, Flower's with C(prometheus_client).
        acm: whether there is a list of metrics for the observability of Advanced Cluster Management.
        runs: whether it reads the logs of runs, for rounds and metrics.
        monitor: whether there are a PodMonitor and a PrometheusRule for the Prometheus operator.
        api_server: peers by which policies know the API server; empty for any address on the usual ports.
    """

    enabled: Flag = False
    image: Text = ""
    monitor: Flag = False
    acm: Flag = False
    runs: Flag = False
    resources: Amounts = field(default_factory=lambda: {"requests": {"cpu": "10m", "memory": "128Mi"}})
    api_server: Listed = field(default_factory=list)

    @property
    def has_monitor(self) -> bool:
        """Whether objects of the Prometheus operator are rendered."""
        return self.enabled and self.monitor


def _metrics(value: Mapping[str, Any] | None) -> Metrics:
    return Metrics.parse(value or {})


MetricsOf = Annotated[Metrics, _metrics]
