# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the specs of Skupper's parts (see spec/network_spec.py for their shape).

Skupper's own schema has no such rules: a Listener with a bad host is accepted and gets no Service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..base.addresses import is_ip
from ..base.times import duration
from ..base.values import boolean, text
from ..skupper.skupper_releases import parse_version, version_fault
from ..spec.network_spec import ListenerSpec, NetworkSiteSpec
from .faults import Faults, Spec
from .policy_faults import peer_faults, policy_faults

MODES = ("direct", "token")
INSTALLS = ("none", "manifests", "operator")
SCOPES = ("cluster", "namespace")
ACCESSES = (
    "none", "default", "route", "loadbalancer", "nodeport", "ingress", "ingress-nginx", "contour-http-proxy", "gateway",
    "local",
)  # fmt: skip
APPROVALS = ("Automatic", "Manual")

_CHANNEL = re.compile(r"stable-2(\.[0-9]+)?")
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}")
_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?")
# Read by Skupper; the first two are named otherwise in the text of its CustomResourceDefinition, where they do nothing.
_SETTINGS = {"routerLogging": "router-logging", "routerDataConnections": "router-data-connection-count"}


def site_faults(spec: Spec) -> list[str]:
    """All faults of a site spec, each a sentence; an empty list if there is none."""
    faults = Faults(spec, "skupper_site_")
    _common_faults(spec, faults)
    site = NetworkSiteSpec.parse({key: spec.get(key) for key in ("cluster", "name", "link_access")})
    name = site.site_name
    if not faults.subdomain("name", name) and not spec.get("name"):
        faults.sentence("the name of this host is not valid as the name of a Site; set skupper_site_name")
    # The CA's subject is "<name> site CA", and a common name has at most 64 characters (RFC 5280, ub-common-name).
    elif len(name) > 64 - len(" site CA"):
        faults.add("name", name, f"has {len(name)} characters; {64 - len(' site CA')} are possible")
    faults.choice("link_access", text(spec.get("link_access")) or "none", ACCESSES)
    if boolean(spec.get("edge")):
        for key, wrong in (("ha", boolean(spec.get("ha"))), ("link_access", site.has_access)):
            if wrong:
                faults.add(key, spec.get(key), "does not go together with skupper_site_edge")
    _settings_faults(spec, faults)
    if spec.get("controller"):
        parts = text(spec["controller"]).split("/")
        if len(parts) > 2 or not all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", part) for part in parts):
            faults.add(
                "controller", spec["controller"], 'is neither the "name" nor the "namespace/name" of a controller'
            )
    policy_faults(spec, faults)
    for key in ("api_server", "egress"):
        peer_faults(key, spec.get(key), faults)
    peer_faults("allowed_sources", spec.get("allowed_sources"), faults, ports=False)
    _install_faults(spec, faults)
    return faults.found


def link_faults(spec: Spec) -> list[str]:
    """All faults of a link spec."""
    faults = Faults(spec, "skupper_link_")
    _common_faults(spec, faults)
    faults.label("hub_namespace", spec.get("hub_namespace"))
    mode = spec.get("mode")
    if isinstance(mode, (list, tuple)) or "," in text(mode):
        faults.add("mode", mode, f"requests several modes; a link has one, {' or '.join(MODES)}")
    else:
        faults.choice("mode", mode, MODES)
    # Links are named <name>-<group>, and the name of a router's connector comes from the Link's.
    faults.label("name", spec.get("name"), 40)
    faults.number("cost", spec.get("cost"), 0, 2**31 - 1)
    if spec.get("proxy_secret"):
        faults.subdomain("proxy_secret", spec["proxy_secret"])
    _duration(faults, "window", spec.get("window"), 30, 24 * 3600)
    if mode == "token" and spec.get("window") in (None, ""):
        faults.add("window", spec.get("window"), "is not a duration: a token is valid for a limited time, such as 10m (the default)")
    _duration(faults, "renew_before", spec.get("renew_before"), 0, 5 * 365 * 24 * 3600)
    faults.number("wait_timeout", spec.get("wait_timeout"), 1)
    return faults.found


def listener_faults(spec: Spec) -> list[str]:
    """All faults of a listener spec."""
    faults = Faults(spec, "skupper_listener_")
    _common_faults(spec, faults)
    host = spec.get("host")
    if is_ip(text(host)):
        faults.add("host", host, "is an address; a Listener's host is the name of the Service that Skupper creates")
    else:
        faults.label("host", host)
    if spec.get("port") in (None, ""):
        faults.add("port", spec.get("port"), "is missing")
    else:
        faults.port("port", spec["port"])
    key = ListenerSpec.parse({key: spec.get(key) for key in ("federation", "routing_key")}).key
    if not _KEY.fullmatch(key) or len(key) > 253:
        faults.add("routing_key", key, "is not a routing key: letters, digits, -, _, . and /, at most 253 characters")
    faults.number("wait_timeout", spec.get("wait_timeout"), 1)
    return faults.found


def all_faults(site: Spec, listener: Spec, link: Spec) -> list[str]:
    """All faults of a site's three specs, each once; an empty link spec is the hub's."""
    found = site_faults(site) + listener_faults(listener) + (link_faults(link) if link else [])
    return list(dict.fromkeys(found))


def _common_faults(spec: Spec, faults: Faults) -> None:
    faults.label("federation", spec.get("federation"))
    faults.label("namespace", spec.get("namespace"))
    faults.labels("labels", spec.get("labels"))
    faults.labels("annotations", spec.get("annotations"), values=False)


def _settings_faults(spec: Spec, faults: Faults) -> None:
    if not faults.mapping("settings", spec.get("settings")):
        return
    for key, value in (spec.get("settings") or {}).items():
        if isinstance(value, (Mapping, list)):
            faults.add(f"settings[{key}]", value, "is not a string")
        elif key in _SETTINGS:
            faults.add(f"settings[{key}]", value, f"has no effect: Skupper reads {_SETTINGS[key]}")
        elif key == "tls-prior-valid-revisions" and not (text(value).isascii() and text(value).isdigit()):
            faults.add(f"settings[{key}]", value, "is not a number of revisions")


def _install_faults(spec: Spec, faults: Faults) -> None:
    install = spec.get("install")
    if not faults.choice("install", install, INSTALLS):
        return
    if install == "manifests":
        faults.choice("scope", spec.get("scope"), SCOPES)
        wrong = version_fault(spec.get("version"))
        if parse_version(spec.get("version")) is None:
            faults.add("version", spec.get("version"), 'is not a Skupper release like "2.2.1"')
        elif wrong:
            faults.add("version", spec.get("version"), wrong)
        if spec.get("manifests_checksum") and not _CHECKSUM.fullmatch(text(spec["manifests_checksum"])):
            faults.add("manifests_checksum", spec["manifests_checksum"], 'is not "sha256:" and 64 hexadecimal digits')
    if install == "operator":
        channel = text(spec.get("operator_channel"))
        if not _CHANNEL.fullmatch(channel):
            faults.add(
                "operator_channel",
                channel,
                "is not a channel of Service Interconnect 2 (stable-2, stable-2.2); generations are never crossed by an upgrade",
            )
        for key in ("operator_namespace", "operator_source", "operator_source_namespace"):
            faults.subdomain(key, spec.get(key))
        faults.choice("operator_approval", spec.get("operator_approval"), APPROVALS)
    faults.number("wait_timeout", spec.get("wait_timeout"), 1)


def _duration(faults: Faults, key: str, value: Any, low: int, high: int) -> None:
    try:
        found = duration(value)
    except ValueError:
        faults.add(key, value, "is not a duration like 30d, 12h, 10m or 40s")
        return
    if found is not None and not low <= found.total_seconds() <= high:
        faults.add(key, value, f"is not between {low} and {high} seconds")
