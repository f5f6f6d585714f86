# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What the machine must have. Installs missing Debian or Ubuntu packages; refuses clearly where it cannot help."""

from __future__ import annotations

import importlib
import ipaddress
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .console import Console
from .errors import FleetError
from .settings import PREFIX, Settings, process_environment
from .shell import run, run_logged

GIB = 1024**3
# program or file -> package that brings it. Programs are looked for, not packages: containerd may as well come from
# another vendor's package, which the distribution's would push out.
PROGRAMS = {
    "containerd": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "sysctl": "procps",
    "dpkg-deb": "dpkg",
    "tar": "tar",
}
BUILD_PROGRAMS = {"gcc": "gcc"}
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
KERNEL_HELP = "Try: modprobe -a overlay bridge br_netfilter veth nf_tables nft_masq nf_conntrack"


def require_root() -> None:
    """Refuse without root: namespaces, mounts and links need it."""
    if os.geteuid() != 0:
        raise FleetError("the fleet needs root (namespaces, mounts, network links). Run the command with sudo -E.")
    if platform.system() != "Linux":
        raise FleetError("the fleet needs Linux. Elsewhere use your own clusters: FLOWER_FLEET_KUBECONFIG=file.")


def cni_folder() -> Path | None:
    """Folder with the CNI plugins, if all are there."""
    return next((folder for folder in CNI_FOLDERS if all((folder / name).exists() for name in CNI_PLUGINS)), None)


def suite() -> str:
    """Name of the distribution's release, e.g. bookworm or noble (part of the images' cache key)."""
    for line in Path("/etc/os-release").read_text().splitlines():
        key, _equals, value = line.partition("=")
        if key == "VERSION_CODENAME" and value.strip('"'):
            return value.strip('"')
    raise FleetError("/etc/os-release names no release. The fleet needs Debian 12 or Ubuntu 22.04, or newer.")


def missing_packages(*, build: bool) -> list[str]:
    """Packages to install; ``build`` adds what only building needs."""
    path = process_environment()["PATH"]
    wanted = {**PROGRAMS, **(BUILD_PROGRAMS if build else {})}
    packages = {package for program, package in wanted.items() if not shutil.which(program, path=path)}
    if not cni_folder():
        packages.add("containernetworking-plugins")
    if build and not list(Path("/usr/lib").glob("*/libc.a")):
        packages.add("libc6-dev")
    try:
        import cryptography  # noqa: F401
    except ImportError:
        packages.add("python3-cryptography")
    return sorted(packages)


def install_packages(settings: Settings, console: Console, *, build: bool) -> None:
    """Install what is missing, and say what. Never removes a package to do so."""
    packages = missing_packages(build=build)
    if not packages:
        return
    if not shutil.which("apt-get"):
        raise FleetError(
            f"these packages are missing: {', '.join(packages)}. Only those of Debian and Ubuntu are installed "
            "automatically; install them, or use your own clusters: FLOWER_FLEET_KUBECONFIG=file."
        )
    if "python3-cryptography" in packages and sys.prefix != sys.base_prefix:
        raise FleetError(
            f"{sys.executable} has no package cryptography; run: {sys.executable} -m pip install cryptography"
        )
    with console.phase(f"installing missing packages: {' '.join(packages)}"):
        update_package_lists(settings, force=True)
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        wait = "DPkg::Lock::Timeout=300"  # for another installation, such as that of the gate `events`
        run_logged(
            ["apt-get", "install", "-y", "-q", "-o", wait, "--no-install-recommends", "--no-remove", *packages],
            settings.logs / "apt-install.log",
            env=env,
        )
    importlib.invalidate_caches()
    still = missing_packages(build=build)
    if still == ["python3-cryptography"] and sys.executable != "/usr/bin/python3":
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    if still:
        raise FleetError(f"still missing after apt-get install: {', '.join(still)}.")


def update_package_lists(settings: Settings, *, force: bool = False) -> None:
    """Run apt-get update if the machine has no package lists, or always with ``force``."""
    if force or not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        run_logged(["apt-get", "update", "-q"], settings.logs / "apt-update.log")


def check_disk(needs: Iterable[tuple[Path, float, str]]) -> None:
    """Refuse if a file system lacks room. ``needs`` holds (directory, GiB, what for); added up per file system."""
    wanted: dict[int, tuple[Path, float, list[str]]] = {}
    for folder, gib, why in needs:
        while not folder.exists():
            folder = folder.parent
        device = folder.stat().st_dev
        old = wanted.get(device, (folder, 0.0, []))
        wanted[device] = (old[0], old[1] + gib, [*old[2], f"{gib:g} GB {why}"])
    for folder, gib, whys in wanted.values():
        free = shutil.disk_usage(folder).free / GIB
        if free < gib:
            raise FleetError(
                f"too little free disk at {folder}: {free:.1f} GB free, {gib:g} GB needed ({', '.join(whys)}). "
                "XDG_CACHE_HOME, GOCACHE and GOMODCACHE move the caches elsewhere."
            )


def check_subnet(subnet: ipaddress.IPv4Network) -> None:
    """Refuse if the machine already routes an address of the fleet's subnet elsewhere."""
    routes = json.loads(run(["ip", "-j", "-4", "route", "show", "table", "all"]).stdout or "[]")
    for route in routes:
        target = str(route.get("dst", ""))
        device = str(route.get("dev", ""))
        if target in ("", "default") or device.startswith(PREFIX):
            continue
        try:
            other = ipaddress.IPv4Network(target, strict=False)
        except ValueError:
            continue
        if other.prefixlen and other.overlaps(subnet):
            raise FleetError(
                f"this machine already routes {target} (by {device or 'no device'}), which overlaps the "
                f"fleet's {subnet}. Choose another /24: FLEET_SUBNET=10.x.y.0/24."
            )


_KERNEL_PROBE = r"""
fail() { echo "$1"; exit 1; }
ip link add ffprobe type bridge 2>/dev/null || fail "bridges (CONFIG_BRIDGE)"
ip link add ffprobe0 type veth peer name ffprobe1 2>/dev/null || fail "virtual Ethernet pairs (CONFIG_VETH)"
[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || fail "netfilter for bridges (module br_netfilter)"
nft add table ip ffprobe 2>/dev/null || fail "nftables (CONFIG_NF_TABLES)"
nft "add chain ip ffprobe c { type nat hook postrouting priority 100; }; add rule ip ffprobe c masquerade" \
    2>/dev/null || fail "nftables with NAT (CONFIG_NFT_NAT, CONFIG_NFT_MASQ)"
mkdir "$1/l" "$1/u" "$1/w" "$1/m"
mount -t overlay overlay -o "lowerdir=$1/l,upperdir=$1/u,workdir=$1/w" "$1/m" 2>/dev/null ||
    fail "overlay file systems on top of $1 (CONFIG_OVERLAY_FS)"
umount "$1/m"
"""


def load_modules(env: dict[str, str], settings: Path = Path("/proc/sys/net/bridge")) -> None:
    """Load the kernel's modules that the nodes use.

    br_netfilter has the machine's own rules filter what passes its bridges from then on, which can cut virtual machines of the
    user off. The nodes switch that on in their own network namespaces, so where the module was not loaded the machine has it off.
    """
    was_loaded = settings.exists()
    run(["modprobe", "-aq", "overlay", "bridge", "br_netfilter", "veth", "nf_tables"], check=False, env=env)
    if not was_loaded:
        for path in settings.glob("bridge-nf-call-*tables"):
            path.write_text("0\n")


def check_kernel(cache: Path) -> None:
    """Refuse if the kernel lacks a feature, found by trying it in throw-away namespaces."""
    env = process_environment()
    if shutil.which("modprobe", path=env["PATH"]):
        load_modules(env)
    spaces = ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork"]
    if run([*spaces, "true"], check=False, env=env).returncode:
        raise FleetError(
            "this machine does not allow new net, mount, pid, uts and ipc namespaces (in a container? "
            "it must be a privileged one). Use your own clusters: FLOWER_FLEET_KUBECONFIG=file."
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="probe-", dir=cache) as folder:
        result = run([*spaces, "sh", "-c", _KERNEL_PROBE, "probe", folder], check=False, env=env)
    if result.returncode:
        missing = result.stdout.strip() or result.stderr.strip()
        raise FleetError(f"the kernel lacks {missing}. {KERNEL_HELP}")
    controllers = Path("/sys/fs/cgroup/cgroup.controllers")
    have = (
        set(controllers.read_text().split())
        if controllers.exists()
        else {path.name for path in Path("/sys/fs/cgroup").glob("*")}
    )
    lacking = {"cpu", "cpuset", "memory", "pids"} - have
    if lacking:
        raise FleetError(f"the kernel's control groups lack {', '.join(sorted(lacking))} at /sys/fs/cgroup.")
