# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the tracking server of a superlink spec."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ..base.addresses import is_ip
from ..base.values import text
from ..manifests.tracking import PASSWORD, TOKEN, USERNAME
from ..spec.tracking_spec import PORTS
from .faults import Faults, Shape, Spec
from .policy_faults import peer_faults

_KEYS = ("uri", "secret", "token_key", "username_key", "password_key", "ca", "egress")
_CREDENTIALS = ({TOKEN}, {USERNAME, PASSWORD})


def tracking_faults(spec: Spec, faults: Faults) -> None:
    """Rules for C(tracking), and for the names of the credentials that are given beside it."""
    value, given = spec.get("tracking"), set(spec.get("tracking_credentials") or [])
    if not faults.mapping("tracking", value):
        return
    own = value or {}
    if not own.get("uri"):
        if own or given:
            faults.add("tracking.uri", own.get("uri"), "is not set; set it, or remove the rest of the tracking server")
        return
    for key in sorted(set(own) - set(_KEYS)):
        faults.add(f"tracking.{key}", Shape(own[key]), f"is not one of {', '.join(_KEYS)}; {_ELSEWHERE}")
    _uri_faults(own["uri"], faults)
    _credential_faults(own, given, faults)
    faults.certificates("tracking.ca", own.get("ca"))
    if own.get("ca") and not text(own["uri"]).lower().startswith("https:"):
        faults.add(
            "tracking.ca", text(own["ca"])[:40], "has no effect on a server without TLS; use https in tracking.uri"
        )
    peer_faults("tracking.egress", own.get("egress"), faults)


_ELSEWHERE = "credentials are in a Secret, or in superlink_tracking_credentials"


def _uri_faults(uri: Any, faults: Faults) -> None:
    try:
        parts = urlsplit(text(uri))
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        faults.add("tracking.uri", Shape(uri), f"is not a URI: {error}")
        return
    if parts.username is not None or parts.password is not None:
        faults.add("tracking.uri", Shape(uri), f"contains credentials, and is shown in the cluster; {_ELSEWHERE}")
        return
    if parts.scheme not in PORTS or not host or any(one.isspace() for one in text(uri)):
        faults.add("tracking.uri", uri, 'is not a URI like "https://mlflow.example.com" or "http://10.0.0.7:5000/path"')
    elif parts.query or parts.fragment:
        faults.add("tracking.uri", uri, "has a query or fragment, which no tracking server takes")
    elif port == 0:
        faults.add("tracking.uri", uri, "has the port 0")
    elif not is_ip(host):
        faults.subdomain("tracking.uri", host)


def _credential_faults(own: Spec, given: set[str], faults: Faults) -> None:
    if given and given not in _CREDENTIALS:
        faults.add(
            "tracking_credentials", sorted(given), "are neither a token nor username and password; set one of the two"
        )
    keys = {name for name in (TOKEN, USERNAME, PASSWORD) if own.get(f"{name}_key")}
    if own.get("secret"):
        faults.subdomain("tracking.secret", own["secret"])
        if given:
            faults.add(
                "tracking.secret",
                own["secret"],
                "is set, and superlink_tracking_credentials as well; remove one of the two",
            )
        if keys not in _CREDENTIALS:
            faults.add(
                "tracking.secret",
                own["secret"],
                "needs the names of its entries: either token_key, or username_key and password_key",
            )
    elif keys:
        faults.add(f"tracking.{min(keys)}_key", own[f"{min(keys)}_key"], "has no effect without tracking.secret")
