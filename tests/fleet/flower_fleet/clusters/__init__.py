# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Clusters: one set of namespaces each, with its own control plane and node, joined by a switch."""

from __future__ import annotations
