# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the HTTP proxy of a supernode spec."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..base.names import CONTROLLER
from ..base.object_names import TUNNEL
from ..base.values import boolean, text
from ..spec.part_spec import SKUPPER
from ..spec.proxy_spec import PASSWORD, USERNAME
from .faults import Faults, Shape, Spec

_KEYS = ("address", "secret", "username_key", "password_key", "cidrs")
_ENTRIES = ("username_key", "password_key")
_ENTRY = re.compile(r"(?!\.$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")  # Kubernetes: apimachinery/pkg/util/validation, IsConfigMapKey
_CREDENTIALS = {USERNAME, PASSWORD}
_ELSEWHERE = "credentials are in a Secret, or in supernode_http_proxy_credentials"


def proxy_faults(spec: Spec, faults: Faults) -> None:
    """Rules for C(http_proxy), and for the names of the credentials beside it. No message has a credential."""
    value, credentials = spec.get("http_proxy"), spec.get("http_proxy_credentials") or {}
    faults.resources("tunnel_resources", spec.get("tunnel_resources"))
    if not faults.mapping("http_proxy", value):
        return
    if not isinstance(credentials, Mapping):
        faults.add("http_proxy_credentials", Shape(credentials), "is not a mapping with username and password")
        return
    own, given = value or {}, credentials
    if not own.get("address"):
        if own or given:
            faults.add("http_proxy.address", own.get("address"), "is not set; set it, or remove the rest of the HTTP proxy")
        return
    for key in sorted(set(own) - set(_KEYS)):
        faults.add(f"http_proxy.{key}", Shape(own[key]), f"is not one of {', '.join(_KEYS)}; {_ELSEWHERE}")
    _address_fault(text(own["address"]), faults)
    faults.networks("http_proxy.cidrs", own.get("cidrs"))
    _way_faults(spec, own, faults)
    _name_faults(spec, faults)
    _credential_faults(spec, own, given, faults)


def _address_fault(address: str, faults: Faults) -> None:
    if "@" in address:
        faults.add("http_proxy.address", Shape(address), f"contains credentials, and is shown in the cluster; {_ELSEWHERE}")
    elif "://" in address:
        reason = 'is a URL; set "host:port"'
        if address.lower().startswith("https:"):
            reason += ". The connection to the proxy itself has no TLS here; what goes through it has"
        faults.add("http_proxy.address", address, reason)
    else:
        faults.address("http_proxy.address", address)


def _way_faults(spec: Spec, own: Spec, faults: Faults) -> None:
    address = text(own["address"]).rpartition("@")[2]
    if boolean(spec.get("insecure")):
        faults.add("http_proxy.address", address, "needs TLS: flower_insecure is true, and the proxy could read and change everything")
    elif not boolean(spec.get("sidecar", True)):
        faults.add("http_proxy.address", address, "needs the sidecar, which goes through the proxy: set supernode_sidecar to true")
    if spec.get("connectivity") == SKUPPER:
        faults.add(
            "http_proxy.address",
            address,
            "has no effect: SuperNodes call their site's Skupper router. skupper_link_proxy_secret is the proxy of its link",
        )
    if spec.get("superlink_cidrs"):
        faults.add(
            "superlink_cidrs", spec["superlink_cidrs"], "has no effect: SuperNodes call the HTTP proxy; use http_proxy.cidrs"
        )


def _name_faults(spec: Spec, faults: Faults) -> None:
    """Containers that are added under the name of the proxy's own, which is there with a proxy only."""
    pools = spec.get("pools")
    parts = {"": spec, **{f"pools[{number}].": pool for number, pool in enumerate(pools if isinstance(pools, list) else [])}}
    for at, part in parts.items():
        for key in ("init_containers", "extra_containers"):
            listed = part.get(key) if isinstance(part, Mapping) else None
            for number, one in enumerate(listed if isinstance(listed, list) else []):
                if isinstance(one, Mapping) and one.get("name") == TUNNEL:
                    faults.add(f"{at}{key}[{number}].name", TUNNEL, "is the container that goes through the HTTP proxy; use another name")


def _credential_faults(spec: Spec, own: Spec, given: Spec, faults: Faults) -> None:
    names = sorted(map(text, given))
    if given and set(given) != _CREDENTIALS:
        faults.add("http_proxy_credentials", names, "are not username and password; set both")
    for name in names if set(given) == _CREDENTIALS else ():
        value = text(given[name])
        if not value or not (value.isascii() and value.isprintable()):
            reason = "is empty or has characters other than printable ASCII; it is sent in a header of HTTP"
            faults.add(f"http_proxy_credentials.{name}", Shape(given[name]), reason)
        elif name == USERNAME and ":" in value:
            reason = "has a colon, which ends the user name in basic authentication (RFC 7617)"
            faults.add(f"http_proxy_credentials.{name}", Shape(given[name]), reason)
    if own.get("secret"):
        faults.subdomain("http_proxy.secret", own["secret"])
        for key in _ENTRIES:
            if own.get(key) and not _ENTRY.fullmatch(text(own[key])):
                faults.add(f"http_proxy.{key}", own[key], "is not the name of an entry of a Secret: letters, digits, -, _ and .")
        if own.get("username_key") and own.get("username_key") == own.get("password_key"):
            faults.add("http_proxy.password_key", own["password_key"], "is the entry of the user name as well")
        if given:
            faults.add(
                "http_proxy.secret", own["secret"], "is set, and supernode_http_proxy_credentials as well; remove one of the two"
            )
    else:
        for key in _ENTRIES:
            if own.get(key):
                faults.add(f"http_proxy.{key}", own[key], "has no effect without http_proxy.secret")
    source = text(spec.get("key_source") or CONTROLLER)
    if given and source != CONTROLLER:
        faults.add(
            "http_proxy_credentials",
            names,
            f"cannot reach the site: with flower_key_source {source} the control node writes no Secrets there. Have a Secret with username "
            "and password made in the site's namespace, and name it in http_proxy.secret",
        )
