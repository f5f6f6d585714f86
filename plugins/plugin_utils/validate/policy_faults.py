# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults in the options of NetworkPolicies (see manifests/policy_rules.py for its shape)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from ..base.values import text
from ..manifests.policy_rules import parse_port
from .faults import Faults, Spec

_KEYS = ("cidr", "except", "namespace", "pod_selector", "ports")


def policy_faults(spec: Spec, faults: Faults) -> None:
    """Rules for the keys that both specs have."""
    peer_faults("dns", spec.get("dns"), faults)
    namespaces = spec.get("monitoring_namespaces")
    if faults.sequence("monitoring_namespaces", namespaces):
        for number, entry in enumerate(namespaces or []):
            _namespace_faults(f"monitoring_namespaces[{number}]", entry, faults)


def peer_faults(variable: str, value: Any, faults: Faults, *, ports: bool = True) -> None:
    """Rules for a list of peers.

    Args:
        ports: whether a peer may name ports.
    """
    if not faults.sequence(variable, value):
        return
    keys = _KEYS if ports else _KEYS[:-1]
    for number, peer in enumerate(value or []):
        at = f"{variable}[{number}]"
        if not isinstance(peer, Mapping):
            faults.add(at, peer, f"is not a mapping of {', '.join(keys)}")
            continue
        given = {key for key, entry in peer.items() if entry not in (None, "", [], {})}
        for key in sorted(given - set(keys)):
            faults.add(f"{at}.{key}", peer[key], f"is not one of {', '.join(keys)}")
        if not given & {"cidr", "namespace", "pod_selector"}:
            faults.add(
                at,
                peer,
                'selects nothing: set cidr, namespace or pod_selector (cidr "0.0.0.0/0" is every IPv4 address)',
            )
        if "cidr" in given and given & {"namespace", "pod_selector"}:
            faults.add(at, peer, "has a cidr and selectors; make two entries of it")
        _network_faults(at, peer, given, faults)
        if "namespace" in given:
            _namespace_faults(f"{at}.namespace", peer["namespace"], faults)
        if "pod_selector" in given:
            faults.labels(f"{at}.pod_selector", peer["pod_selector"], own=True)
        if ports and faults.sequence(f"{at}.ports", peer.get("ports")):
            for index, port in enumerate(peer.get("ports") or []):
                try:
                    parse_port(port)
                except ValueError as exc:
                    faults.add(f"{at}.ports[{index}]", port, str(exc))


def _network_faults(at: str, peer: Mapping[str, Any], given: set[str], faults: Faults) -> None:
    """The network of a peer, and the exceptions in it."""
    if "except" in given and "cidr" not in given:
        faults.add(f"{at}.except", peer["except"], "has no effect without cidr")
    if "cidr" not in given:
        return
    known = len(faults.found)
    try:
        whole = ipaddress.ip_network(text(peer["cidr"]))
    except ValueError as exc:
        faults.add(f"{at}.cidr", peer["cidr"], f"is not a network ({exc})")
        return
    faults.networks(f"{at}.except", peer.get("except"))
    if len(faults.found) > known:
        return
    for number, entry in enumerate(peer.get("except") or []):
        part: Any = ipaddress.ip_network(text(entry))
        # Kubernetes requires a part that is smaller than the whole.
        if part.version != whole.version or part == whole or not part.subnet_of(whole):
            faults.add(f"{at}.except[{number}]", entry, f"is not part of {whole}")


def _namespace_faults(variable: str, value: Any, faults: Faults) -> None:
    """Namespaces by name or by labels."""
    if isinstance(value, Mapping):
        faults.labels(variable, value, own=True)
        if not value:
            faults.add(variable, value, "is empty; set the name of a namespace or labels")
    else:
        faults.label(variable, value)
