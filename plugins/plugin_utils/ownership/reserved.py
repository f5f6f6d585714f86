# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets and records that a part writes without a renderer: their names, and the labels that prove their owner. Pure."""

from __future__ import annotations

from typing import Any

from ..base.labels import record_labels
from ..base.names import CLIENT_KEY, METRICS, PUBLIC_KEYS, keys_secret
from ..base.object_names import (
    AUDIT_CONFIG,
    CLIENTS_CONFIG,
    GATEWAY_NEXT_SECRET,
    GATEWAY_SECRET,
    INTERNAL_SECRET,
    KEY_JOB_OWNER,
    LEDGER_ACCEPTANCE_CONFIG,
    LEDGER_BACKUP_CONFIG,
    LEDGER_CONFIG,
    LEDGER_DATASETS_CONFIG,
    LEDGER_DEPLOYED_CONFIG,
    LEDGER_NODES_CONFIG,
    PROXY_SECRET,
    RESTORE_CONFIG,
    RUNTIME_SECRET,
    STANDBY_CONFIG,
    SUPERLINK,
    SUPERLINK_SUPEREXEC_SECRET,
    TRACKING_SECRET,
    UPGRADE_CONFIG,
)
from ..lease import lease_object as lease
from ..site_keys import keys
from ..spec.deployed_spec import Spec
from ..spec.site_spec import SiteSpec

#: Secrets and records of the hub, in its own namespace.
HUB = {
    "Secret": (
        INTERNAL_SECRET, RUNTIME_SECRET, SUPERLINK_SUPEREXEC_SECRET, GATEWAY_SECRET, GATEWAY_NEXT_SECRET, TRACKING_SECRET,
        METRICS,
    ),
    "ConfigMap": (
        CLIENTS_CONFIG, LEDGER_CONFIG, LEDGER_DATASETS_CONFIG, LEDGER_NODES_CONFIG, LEDGER_ACCEPTANCE_CONFIG, LEDGER_DEPLOYED_CONFIG,
        LEDGER_BACKUP_CONFIG, AUDIT_CONFIG, UPGRADE_CONFIG, STANDBY_CONFIG, RESTORE_CONFIG,
    ),
    lease.KIND: (lease.NAME,),
}  # fmt: skip
#: Secrets and ConfigMaps of a site, in addition to those of each pool and that of its HTTP proxy.
SITE = {"Secret": (*keys.SHARED, CLIENT_KEY), "ConfigMap": (PUBLIC_KEYS, KEY_JOB_OWNER)}


def objects(part: str, spec: Spec) -> list[dict[str, Any]]:
    """Placeholders for these objects: kind, name, namespace and labels, nothing more."""
    names = HUB if part == SUPERLINK else SITE
    listed: list[tuple[str, str]] = [(kind, name) for kind, found in names.items() for name in found]
    if isinstance(spec, SiteSpec):
        listed += [("Secret", keys_secret(pool.name)) for pool in spec.pools]
        if spec.has_proxy and spec.http_proxy_credentials:
            listed.append(("Secret", PROXY_SECRET))
    return [
        {
            "apiVersion": lease.API if kind == lease.KIND else "v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": spec.namespace,
                "labels": record_labels(spec.federation, part, "record"),
            },
        }
        for kind, name in listed
    ]
