# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and choices on which several parts of the collection agree."""

from __future__ import annotations

# Where a site's keys are created. The annotation on Secrets and pods records it; no annotation means the controller.
KEY_SOURCE = "federated.flower/key-source"
CONTROLLER = "controller"
SITE = "site"
KEY_SOURCES = (CONTROLLER, SITE)

# ConfigMap in which a site that creates its keys itself publishes their public keys.
PUBLIC_KEYS = "supernode-public"

# Secret with the key of a site's client certificate.
CLIENT_KEY = "supernode-client-key"

# Where ClientApps run: in the SuperNode's pod, or in their own workload.
POD, WORKLOAD = "pod", "workload"
CLIENTAPPS = (POD, WORKLOAD)
CLIENTAPP = "clientapp"

# The exporter of metrics, everything of it, and the Service of the gateway's port for it.
METRICS = "superlink-metrics"
DRILL = "flower-drill"  # the mark of a drill, a ConfigMap of the hub
METRICS_CONTROL = "superlink-metrics-control"


def keys_secret(pool: str) -> str:
    """Name of the Secret with a pool's SuperNode keys, one entry per pod index or node name."""
    return f"supernode-{pool}-keys"
