# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""How the stand-in is made to misbehave, or to be of another kind: README.md has the list.

For a whole cluster by the ConfigMap ``skupper-standin`` in the controller's namespace, for one object by annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .kube import Object

CONFIG_MAP = "skupper-standin"
PREFIX = "standin.skupper.io/"
# annotations ("true" unless said otherwise)
NO_ADDRESS = PREFIX + "no-address"  # Site: its load balancer never gets an address
ADDRESS = PREFIX + "address"  # Site: the address that its load balancers ask for when they are made
UNREADY = PREFIX + "unready"  # Site: Running is False, its containers "[…]" are not ready
REDEEM = PREFIX + "redeem"  # AccessGrant: "500" fails each redemption after it was counted
NEVER_MATCHED = PREFIX + "never-matched"  # Listener, Connector
NEVER_OPERATIONAL = PREFIX + "never-operational"  # Link
SECONDS = PREFIX + "seconds"  # Certificate: lifetime of what is made from now on


@dataclass(frozen=True)
class Switches:
    """The settings of one cluster's controller; the defaults are given when the stand-in is started."""

    version: str = "2.2.1"
    resync: float = 30.0  # seconds (§3: 30)
    link_delay: float = 1.0  # seconds until a new Link is in the router's configuration (§2a.8: up to 30)
    match_delay: float = 2.0  # seconds until a new Listener or Connector that nothing matches has the condition Matched
    access_types: tuple[str, ...] = ("local", "loadbalancer", "route")
    cluster_host: str = ""
    grants: str = "on"  # or "off" (started without -enable-grants), "no-address" (no ingress for the grant server)
    redeem_by_key: bool = False
    redeem_timeout: float = 60.0  # seconds; the real one has none (§2a.7)
    certificate_seconds: float = 0.0  # lifetime of all certificates made from now on; 0: five years
    staleness: float = (
        30.0  # seconds until it is told that another Site has lost something (§7: more than 10, less than 70)
    )
    network: str = "live"  # or "frozen": what is said of links and bindings is not renewed
    stopped: bool = False  # the controller does nothing

    def with_config(self, data: Mapping[str, str]) -> Switches:
        """The same with what a ConfigMap says; its keys are the fields' names with - for _."""
        changes: dict[str, object] = {}
        for name, default in vars(self).items():
            text = data.get(name.replace("_", "-"))
            if text is None:
                continue
            if isinstance(default, bool):
                changes[name] = text == "true"
            elif isinstance(default, float):
                changes[name] = float(text)
            elif isinstance(default, tuple):
                changes[name] = tuple(text.split(","))
            else:
                changes[name] = text
        return Switches(**{**vars(self), **changes})  # type: ignore[arg-type]

    @property
    def before_2_2(self) -> bool:
        """Whether it is to be a controller of 2.1."""
        return tuple(int(part) for part in self.version.split("-", maxsplit=1)[0].split(".")[:2]) < (2, 2)


def on(item: Object, name: str) -> bool:
    """Whether an object has a switch turned on."""
    return annotation(item, name) == "true"


def annotation(item: Object, name: str) -> str:
    """An annotation's value, or nothing."""
    return (item["metadata"].get("annotations") or {}).get(name, "")
