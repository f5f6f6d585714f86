# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secret of the gateway's port for metrics: its certificate, and the shared secret of the exporter. Pure but for randomness.

It belongs to the ConfigMap with the exporter's program: without that, the API server deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.names import METRICS, METRICS_CONTROL
from ..base.secret_data import entries, secret
from ..pki import certificates as pki
from ..pki import chain, keypairs
from ..spec.hub_spec import HubSpec
from .credentials import INTERNAL_LIFETIME
from .made import entries_of

_ENTRIES = {"tls.crt", "tls.key", "ca.crt", "token"}


def names(namespace: str) -> list[str]:
    """Names in its certificate."""
    return [METRICS_CONTROL, f"{METRICS_CONTROL}.{namespace}.svc"]


def secrets(
    spec: HubSpec, ca: pki.Issued, live: Mapping[str, Any] | None, owner: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The Secret, if it must be written; none otherwise.

    Args:
        spec: the hub.
        ca: the internal CA.
        live: the Secret as it is.
        owner: the live ConfigMap C(superlink-metrics); None in check mode, before the first deployment.
    """
    if not spec.metrics.enabled:
        return []
    there = entries(live)
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": METRICS, "uid": one["metadata"]["uid"]} for one in [owner] if one
    ]
    is_good = set(there) >= _ENTRIES and not (
        chain.unusable(there["tls.crt"], there["tls.key"]) or pki.reissue_reason(there["tls.crt"], ca.certificate, names(spec.namespace))
    )
    if is_good and (not owners or (live or {})["metadata"].get("ownerReferences") == owners):
        return []
    if not is_good:
        leaf = pki.issue(ca, "superlink metrics", names(spec.namespace), INTERNAL_LIFETIME)
        there = {**entries_of(leaf, ca), "token": keypairs.make_secret()}
    wanted = secret(spec.federation, spec.namespace, METRICS, {name: there[name] for name in _ENTRIES}, application=METRICS)
    if owners:
        wanted["metadata"]["ownerReferences"] = owners
    return [wanted]
