# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The image of the exporter of metrics: what the Containerfile of the guide on metrics makes, Flower's image with prometheus_client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..settings import Settings
from . import layer
from .recipes import Recipe

NAME = "metrics"
REFERENCE = "registry.example.com/flower-metrics:1"  # as in the guide
PACKAGE = "prometheus_client>=0.20,<1"


@dataclass(frozen=True)
class MetricsImage(layer.Layered):
    """The image, on top of ``base``, Flower's recipe."""

    base: Recipe
    name: str = NAME

    @property
    def reference(self) -> str:
        """What pods call the image."""
        return REFERENCE

    def key(self) -> str:
        """Hash of Flower's image, and of how it is made."""
        return layer.key(self.base.key(), [Path(__file__)])

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        packages = layer.Packages(self.base, settings, work, log)
        packages.install("/python/venv", [PACKAGE])
        packages.write(target, self.reference)
