# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The switch and the links of the clusters.

The switch is a bridge in its own network namespace: filter rules of the machine (Docker, ufw) do not touch what
passes between clusters, and nothing of it is left when the namespace is gone. The machine itself has one link into it.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import os
from pathlib import Path

from ..settings import PREFIX, Cluster, process_environment
from ..shell import mount_points, run

SWITCH = f"{PREFIX}-switch"
HOST_LINK = f"{PREFIX}0"
NETNS = Path("/run/netns")
LINKS = Path("/sys/class/net")
_IFF_UP = 1  # linux/if.h


def _ip(*words: str, netns: str = "", check: bool = True) -> str:
    prefix = ["ip", "-n", netns] if netns else ["ip"]
    return run([*prefix, *words], check=check, env=process_environment()).stdout


def namespaces() -> list[str]:
    """The fleet's network namespaces."""
    return sorted(path.name for path in NETNS.glob(f"{PREFIX}-*")) if NETNS.is_dir() else []


def host_link_exists() -> bool:
    """Whether there is the machine's link into the switch."""
    return (LINKS / HOST_LINK).exists()


def host_link_is_up() -> bool:
    """Whether the machine's link into the switch is complete: it is set up last."""
    flags = LINKS / HOST_LINK / "flags"
    return flags.exists() and bool(int(flags.read_text(), 16) & _IFF_UP)


def ensure_switch(subnet: ipaddress.IPv4Network) -> None:
    """Make the switch unless it is complete.

    Its address is the nodes' default gateway; it has no route out of the fleet and answers at once (unreachable), so a
    try to pull an image fails fast.
    """
    if SWITCH in namespaces() and host_link_is_up():
        return
    remove_switch()
    gateway, host = subnet.network_address + 1, subnet.network_address + 2
    _ip("netns", "add", SWITCH)
    _ip("link", "set", "lo", "up", netns=SWITCH)
    _ip("link", "add", "br0", "type", "bridge", netns=SWITCH)
    _ip("addr", "add", f"{gateway}/{subnet.prefixlen}", "dev", "br0", netns=SWITCH)
    _ip("link", "set", "br0", "up", netns=SWITCH)
    run(["ip", "netns", "exec", SWITCH, "sysctl", "-qw", "net.ipv4.ip_forward=1"], env=process_environment())
    _ip("route", "add", "unreachable", "default", netns=SWITCH)
    _ip("link", "add", HOST_LINK, "type", "veth", "peer", "name", "host", "netns", SWITCH)
    _ip("link", "set", "host", "master", "br0", "up", netns=SWITCH)
    _ip("addr", "add", f"{host}/{subnet.prefixlen}", "dev", HOST_LINK)
    _ip("link", "set", HOST_LINK, "up")


def remove_switch() -> None:
    """Remove the switch and the machine's link; fine if there is none."""
    _ip("link", "del", HOST_LINK, check=False)
    if SWITCH in namespaces():
        _ip("netns", "del", SWITCH)


def attach(cluster: Cluster) -> None:
    """Make the cluster's network namespace and its link to the switch."""
    _ip("netns", "add", cluster.netns)
    _ip("link", "add", cluster.link, "netns", SWITCH, "type", "veth", "peer", "name", "eth0", "netns", cluster.netns)
    _ip("link", "set", cluster.link, "master", "br0", "up", netns=SWITCH)
    # A fixed hardware address: with a new one the others would send to the old for up to half a minute.
    hardware = ":".join(f"{byte:02x}" for byte in (2, 0, *ipaddress.ip_address(cluster.address).packed))
    _ip("link", "set", "eth0", "address", hardware, netns=cluster.netns)
    _ip("addr", "add", f"{cluster.address}/{cluster.subnet.prefixlen}", "dev", "eth0", netns=cluster.netns)
    _ip("link", "set", "eth0", "up", netns=cluster.netns)
    _ip("route", "add", "default", "via", cluster.gateway, netns=cluster.netns)


def detach(cluster: Cluster) -> None:
    """Remove link and namespace; fine if there are none. The namespace's processes must have ended."""
    if SWITCH in namespaces():
        _ip("link", "del", cluster.link, netns=SWITCH, check=False)
    if cluster.netns in namespaces():
        _ip("netns", "del", cluster.netns)


def pids(netns: str) -> list[int]:
    """Processes in a network namespace."""
    return [int(word) for word in _ip("netns", "pids", netns, check=False).split()]


def set_link(cluster: Cluster, *, up: bool) -> None:
    """Disconnect (down) or reconnect (up) the cluster's link to all others and to the machine."""
    _ip("link", "set", cluster.link, "up" if up else "down", netns=SWITCH)


def is_cut(cluster: Cluster) -> bool:
    """Whether the link is cut."""
    listing = json.loads(_ip("-j", "link", "show", cluster.link, netns=SWITCH, check=False) or "[]")
    return bool(listing) and "UP" not in listing[0].get("flags", [])


def release_netns_folder() -> None:
    """Remove /run/netns, which the first ``ip netns add`` mounts, if no other process has a namespace there."""
    if NETNS.is_dir() and not any(NETNS.iterdir()):
        while os.path.realpath(NETNS) in mount_points():
            run(["umount", NETNS])
        try:
            NETNS.rmdir()
        except OSError as error:
            # Mounted in another mount namespace, or filled in this moment: someone else's now.
            if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                raise
