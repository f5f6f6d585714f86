# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets and records that a part writes without a renderer: their names, and the labels that prove their owner. Pure."""

from __future__ import annotations

from typing import Any

from ..audit import trail as audit
from ..backup.hub_objects import RESTORE, TERM
from ..base.labels import record_labels
from ..base.names import CLIENT_KEY, DRILL, METRICS, PUBLIC_KEYS, keys_secret
from ..hub import clients, credentials
from ..hub.sources import builtin
from ..lease import lease_object as lease
from ..ledger import store as ledger
from ..manifests import gateway, key_job, tracking, tunnel
from ..rights.need import Spec
from ..rights.table import SUPERLINK
from ..site_keys import keys
from ..spec.site_spec import SiteSpec
from ..upgrade import unfinished

#: Secrets and records of the hub, in its own namespace.
HUB = {
    "Secret": (
        credentials.INTERNAL, credentials.RUNTIME, credentials.SUPEREXEC, gateway.SECRET, gateway.NEXT_SECRET, tracking.SECRET,
        METRICS,
    ),
    "ConfigMap": (
        clients.CONFIG, ledger.BOOK, ledger.DATASETS, ledger.NODES, ledger.ACCEPTANCE, ledger.DEPLOYED, ledger.BACKUP, audit.NAME, unfinished.NAME,
        DRILL, TERM, RESTORE,
    ),
    lease.KIND: (lease.NAME,),
}  # fmt: skip
#: Secrets of the hub in the namespace of the CA keys.
CA = (builtin.CA, credentials.INTERNAL_CA, clients.CA)
#: Secrets and ConfigMaps of a site, in addition to those of each pool and that of its HTTP proxy.
SITE = {"Secret": (*keys.SHARED, CLIENT_KEY), "ConfigMap": (PUBLIC_KEYS, key_job.OWNER)}


def objects(part: str, spec: Spec) -> list[dict[str, Any]]:
    """Placeholders for these objects: kind, name, namespace and labels, nothing more."""
    names = HUB if part == SUPERLINK else SITE
    listed: list[tuple[str, str]] = [(kind, name) for kind, found in names.items() for name in found]
    if isinstance(spec, SiteSpec):
        listed += [("Secret", keys_secret(pool.name)) for pool in spec.pools]
        if spec.has_proxy and spec.http_proxy_credentials:
            listed.append(("Secret", tunnel.SECRET))
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
