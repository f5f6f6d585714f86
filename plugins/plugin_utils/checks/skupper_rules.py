# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the variables of a Skupper network: of its sites, links and listeners.

Skupper's own schema has no such rules: a Listener with a bad host is accepted and gets no Service.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.addresses import is_ip
from ..base.problems import Problem
from ..base.values import text
from ..skupper.skupper_requirements import parse_version, version_fault
from ..spec.network_spec import ListenerSpec, NetworkSiteSpec
from .connection_rules import POLICIES, peers
from .value_checks import UNSET, Check, Problems, Rule, Spec, flag, given, number, pattern, port

# Read by Skupper; the first two are named otherwise in the text of its CustomResourceDefinition, where they do nothing.
_SETTINGS = {"routerLogging": "router-logging", "routerDataConnections": "router-data-connection-count"}


def _settings(found: Problems, variable: str, value: Any) -> None:
    for key, entry in (value or {}).items() if found.mapping(variable, value) else ():
        if isinstance(entry, (Mapping, list)):
            found.add(f"{variable}[{key}]", entry, "is not a string")
        elif key in _SETTINGS:
            found.add(f"{variable}[{key}]", entry, f"has no effect: Skupper reads {_SETTINGS[key]}")
        elif key == "tls-prior-valid-revisions" and not (text(entry).isascii() and text(entry).isdigit()):
            found.add(f"{variable}[{key}]", entry, "is not a number of revisions")


def _release(found: Problems, variable: str, value: Any) -> None:
    problem = 'is not a Skupper release like "2.2.1"' if parse_version(value) is None else version_fault(value)
    if problem:
        found.add(variable, value, problem)


def _time(low: int, high: int) -> Check:
    """The check of a duration from C(low) to C(high) seconds."""
    bounds = datetime.timedelta(seconds=low), datetime.timedelta(seconds=high)
    return lambda found, variable, value: found.duration(variable, value, *bounds, f"{low} and {high} seconds")


_COMMON: Mapping[str, Check] = {
    "federation": Problems.label,
    "namespace": Problems.label,
    "labels": Problems.labels,
    "annotations": Problems.annotations,
    "wait_timeout": number(1),
}
_SITE: Mapping[str, Check] = {
    **_COMMON,
    **POLICIES,
    "settings": _settings,
    "controller": given(
        pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(/[a-z0-9]([-a-z0-9]*[a-z0-9])?)?", 'is neither the "name" nor the "namespace/name" of a controller')
    ),
    "api_server": peers,
    "egress": peers,
    "allowed_sources": peers,
}
#: Value of C(install) -> checks of the variables that it needs.
_INSTALL: Mapping[Any, Mapping[str, Check]] = {
    "manifests": {
        "version": _release,
        "manifests_checksum": given(pattern("sha256:[0-9a-f]{64}", 'is not "sha256:" and 64 hexadecimal digits')),
    },
    "operator": {
        "operator_channel": pattern(
            r"stable-2(\.[0-9]+)?",
            "is not a channel of Service Interconnect 2 (stable-2, stable-2.2); generations are never crossed by an upgrade",
        ),
        "operator_namespace": Problems.subdomain,
        "operator_source": Problems.subdomain,
        "operator_source_namespace": Problems.subdomain,
    },
}
_edge, _EDGE = flag("edge"), "cannot be combined with skupper_site_edge"
_SITE_RULES = (
    Rule("ha", lambda spec: _edge(spec) and flag("ha")(spec), _EDGE),
    Rule("link_access", lambda spec: _edge(spec) and (text(spec.get("link_access")) or "none") != "none", _EDGE),
)
_LINK: Mapping[str, Check] = {
    **_COMMON,
    "hub_namespace": Problems.label,
    "cost": number(0, 2**31 - 1),
    "proxy_secret": given(Problems.subdomain),
    "window": _time(30, 24 * 3600),
    "renew_before": _time(0, 5 * 365 * 24 * 3600),
}
_LISTENER_RULES = (
    Rule("host", lambda spec: is_ip(text(spec.get("host"))), "is an address; a Listener's host is the name of the Service that Skupper creates"),
    Rule("port", lambda spec: spec.get("port") in UNSET, "is missing"),
)


def site_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of a Site."""
    found = Problems(spec, "skupper_site_")
    found.check({**_SITE, **_INSTALL.get(text(spec.get("install")), {})}, spec)
    found.apply(_SITE_RULES, spec)
    name = NetworkSiteSpec.parse({key: spec.get(key) for key in ("cluster", "name")}).site_name
    if not found.subdomain("name", name) and not spec.get("name"):
        found.sentence("the name of this host is not valid as the name of a Site; set skupper_site_name")
    # The CA's subject is "<name> site CA", and a common name has at most 64 characters (RFC 5280, ub-common-name).
    elif len(name) > 64 - len(" site CA"):
        found.add("name", name, f"has {len(name)} characters; {64 - len(' site CA')} are possible")
    return found.found


def link_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of a Link."""
    found = Problems(spec, "skupper_link_")
    found.check(_LINK, spec)
    found.label("name", spec.get("name"), 40)  # Links are named <name>-<group>, and the name of a router's connector comes from the Link's.
    if spec.get("mode") == "token" and spec.get("window") in UNSET:
        found.add("window", spec.get("window"), "is not a duration: a token is valid for a limited time, such as 10m (the default)")
    return found.found


def listener_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of a Listener."""
    found = Problems(spec, "skupper_listener_")
    found.check({**_COMMON, "port": port}, spec)
    found.apply(_LISTENER_RULES, spec)
    if not is_ip(text(spec.get("host"))):
        found.label("host", spec.get("host"))
    key = ListenerSpec.parse({key: spec.get(key) for key in ("federation", "routing_key")}).key
    pattern(
        r"(?=.{1,253}$)[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?",
        "is not a routing key: letters, digits, -, _, . and /, at most 253 characters",
    )(found, "routing_key", key)
    return found.found


def network_problems(site: Spec, listener: Spec, link: Spec) -> list[Problem]:
    """All that is wrong with a site's three specs, each once; an empty link spec is the hub's."""
    found = site_problems(site) + listener_problems(listener) + (link_problems(link) if link else [])
    return list(dict.fromkeys(found))
