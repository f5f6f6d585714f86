# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""A fleet of real Kubernetes clusters on one Linux machine, without Docker.

Rooms: ``host`` and ``golang`` (what the machine must have), ``binaries`` (Go builds), ``images`` (container images and
the seed image store), ``clusters`` (network, PKI, processes, life cycle), ``addons`` (what is applied to a cluster).
"""

from __future__ import annotations
