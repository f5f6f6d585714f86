# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the Secret with the credentials for the tracking server can be used, and what of the server is unsafe. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..manifests import tracking
from ..spec.hub_spec import HubSpec


def fault(spec: HubSpec, live: Mapping[str, Any] | None) -> str:
    """What is wrong with it, with the remedy; an empty text if the ServerApp's pod can start with it.

    Args:
        spec: the hub.
        live: the Secret of its name in the cluster, or None.
    """
    own = spec.tracking
    what = f"superlink_tracking.secret: Secret {spec.namespace}/{own.secret}"
    if live is None:
        return f"{what} does not exist: create it, or set superlink_tracking_credentials to have one created"
    lacking = [
        key
        for key in (own.token_key, own.username_key, own.password_key)
        if key and key not in (live.get("data") or {})
    ]
    if lacking:
        return f"{what} has no entry {' and no '.join(lacking)}: add it, or correct the names of the entries in superlink_tracking"
    return ""


def warnings(spec: HubSpec) -> list[str]:
    """What works and may not be what is wanted, with the remedies."""
    found = []
    own = spec.tracking
    if own.uri and (own.secret or spec.tracking_credentials) and not own.is_encrypted:
        host, _port = own.endpoint
        if not tracking.service_namespace(host):
            found.append(
                f"superlink_tracking.uri: {own.uri} has no TLS, so the credentials are sent to {host} in clear text with each request. Use https, "
                "or remove the credentials"
            )
    if tracking.opens_everything(spec):
        host, port = own.endpoint
        service = (
            ""
            if host.count(".") > 1 and ".svc" not in host
            else " For a Service of the hub's cluster, write NAME.NAMESPACE.svc."
        )
        found.append(
            f"superlink_tracking.uri: network policies know no names, and {host} is one: apps of the hub may connect to any address on port "
            f"{port}. Name the server's addresses in superlink_tracking.egress.{service}"
        )
    return found
