# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Starting, watching and removing clusters, and the record of what is there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from .. import addons
from ..console import Console
from ..errors import FleetError
from ..host import cni_folder
from ..images import seed as seed_store
from ..settings import PREFIX, RUN_LINK, Cluster, Settings, cluster, process_environment
from ..shell import remove_tree
from . import cgroups, config, network
from .api import Api, ApiError
from .processes import processes

NODE_SCRIPT = Path(__file__).with_name("node.sh")
MOUNT_POINTS = tuple(map(Path, ("/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/var/log/containers")))
START_TIMEOUT = 180.0  # seconds until a cluster must be ready


@dataclass
class Record:
    """What the running fleet consists of; fleet.json in the state directory."""

    subnet: str
    in_use: list[str] = field(default_factory=list)  # programs and stores of the cache
    created: list[str] = field(default_factory=list)  # directories made on the machine, in that order

    @classmethod
    def load(cls, state: Path) -> Record | None:
        """Read the record; None if there is none, or it was truncated."""
        try:
            data = json.loads((state / "fleet.json").read_text())
            return cls(**{item.name: data[item.name] for item in fields(cls) if item.name in data})
        except (OSError, ValueError, TypeError):
            return None

    def save(self, state: Path) -> None:
        """Write the record, whole or not at all."""
        state.mkdir(parents=True, exist_ok=True)
        temporary = state / "fleet.json.new"
        temporary.write_text(json.dumps(asdict(self)))
        temporary.rename(state / "fleet.json")


def state_directory(settings: Settings) -> Path:
    """State of the fleet that runs on this machine, wherever it was started from; else the place for a new one."""
    if RUN_LINK.is_symlink():
        target = RUN_LINK.readlink()
        if target.is_dir():
            return target
    return settings.state


def process_words(pid: int) -> list[str]:
    """Command line of a process, as words; empty ones if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def launchers(state: Path, name: str = "") -> list[int]:
    """The unshare processes that hold clusters of ``state`` (found by command line, so also after a crash)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        words = process_words(int(entry.name))
        if words[:1] == ["unshare"] and "--" in words and words[words.index("--") + 1].endswith("clusters/node.sh"):
            folder = Path(words[words.index("--") + 2])
            if folder.parent == state and name in ("", folder.name):
                found.append(int(entry.name))
    return found


def node_pid(state: Path, name: str) -> int | None:
    """Process 1 of the cluster's process namespace, if it lives."""
    return next((child for launcher in launchers(state, name) for child in _children(launcher)), None)


def entering(state: Path, item: Cluster) -> list[str]:
    """Words before a command that make it run in the cluster's namespaces, and end with them."""
    pid = node_pid(state, item.name)
    if pid is None:
        raise FleetError(f"{item.name} does not run. Start it with 'fleet up'.")
    return ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--"]


def commands_from(folder: Path) -> list[int]:
    """Processes whose program lies directly below a folder of the cache with this name, whatever follows it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and process_words(int(entry.name))[0].startswith(str(folder)):
            found.append(int(entry.name))
    return found


def existing(state: Path, subnet: IPv4Network) -> list[Cluster]:
    """Clusters with a state directory, the hub first."""
    if not state.is_dir():
        return []
    return sorted(
        (cluster(path.name, subnet) for path in state.iterdir() if path.is_dir()), key=lambda item: item.index
    )


def usable(state: Path, item: Cluster) -> bool:
    """Whether the cluster was completed and its processes live. Cut links do not matter."""
    return (state / item.name / "ready").exists() and node_pid(state, item.name) is not None


def make_mount_points(record: Record, state: Path) -> None:
    """Make the directories on the machine that nodes mount over; the record comes first, for ``down``."""
    for point in MOUNT_POINTS:
        missing = [path for path in (point, *point.parents) if not path.exists()]
        for path in reversed(missing):
            record.created.append(str(path))
            record.save(state)
            path.mkdir()


def start(settings: Settings, item: Cluster, binaries: Path, seed: Path, state: Path) -> None:
    """Start the namespaces and processes of one cluster; returns at once."""
    from . import pki  # needs cryptography, which ``up`` installs if it is missing

    folder = state / item.name
    (folder / "log").mkdir(parents=True)
    pki.create(folder / "pki", item)
    plugins = cni_folder()
    assert plugins is not None
    config.write(folder, item, plugins)
    seed_store.plant(seed, folder / "containerd")
    commands = processes(folder, item, binaries, settings.apiserver_args)
    (folder / "processes.json").write_text(json.dumps(commands, indent=1))
    cgroups.create(item.name)
    network.attach(item)
    with (folder / "log/node.log").open("w") as log:
        subprocess.Popen(
            [
                "nsenter",
                f"--net={network.NETNS / item.netns}",
                "unshare",
                "--mount",
                "--uts",
                "--ipc",
                "--pid",
                "--fork",
                "--kill-child=KILL",
                "--",
                str(NODE_SCRIPT),
                str(folder),
                str(seed_store.snapshots(seed)),
                sys.executable,
            ],
            env=process_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )


def _node_ready(api: Api, item: Cluster) -> bool:
    node = api.get(f"/api/v1/nodes/{item.name}") or {}
    status = node.get("status", {})
    ready = any(entry["type"] == "Ready" and entry["status"] == "True" for entry in status.get("conditions", []))
    extended = all(
        status.get("allocatable", {}).get(name) == amount for name, amount in item.extended_resources.items()
    )
    account = ready and api.get("/api/v1/namespaces/default/serviceaccounts/default")
    return bool(ready and extended and account)


def _available(api: Api, namespace: str, name: str) -> bool:
    deployment = api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}") or {}
    status = deployment.get("status", {})
    return bool(status.get("availableReplicas", 0) >= 1)


def bring_up(state: Path, item: Cluster) -> Iterator[str]:
    """Steps of one cluster from its start to ready; yields what it waits for, and returns when it is complete.

    The add-ons are applied as soon as the API server answers, while the node still starts.
    """
    folder = state / item.name
    api = Api(item, folder / "pki")
    while not _try(lambda: api.request("GET", "/readyz") == "ok"):
        yield "API server"
    wanted: list[tuple[str, str]] = []
    for addon in (make(item) for make in addons.ALL):
        for thing in addon.objects:
            while not _try(partial(api.apply, thing)):
                yield f"add-on {addon.name}"
        wanted += addon.deployments
    while not _try(lambda: _node_ready(api, item)):
        yield "node"
    for namespace, name in wanted:
        while not _try(partial(_available, api, namespace, name)):
            yield name
    (folder / "ready").touch()


def _try(step: Any) -> bool:
    """Whether ``step`` is true; the API server may not be there yet, or not know the namespace yet."""
    try:
        return bool(step())
    except (OSError, ApiError):
        return False


def wait(state: Path, items: list[Cluster], console: Console) -> None:
    """Wait until all ``items`` are ready, a line for each; FleetError with the logs' place after START_TIMEOUT."""
    steps = {item.name: bring_up(state, item) for item in items}
    begin, at = time.monotonic(), {item.name: "" for item in items}
    while steps:
        for name, step in list(steps.items()):
            try:
                at[name] = next(step)
            except StopIteration:
                del steps[name]
                console.line(f"cluster {name}: ready after {time.monotonic() - begin:.1f} s")
        if steps and time.monotonic() - begin > START_TIMEOUT:
            waits = "; ".join(f"{name} waits for: {at[name]}, logs: {state / name / 'log'}" for name in steps)
            raise FleetError(f"not ready after {START_TIMEOUT:.0f} s: {waits}")
        for name in steps:
            if node_pid(state, name) is None and time.monotonic() - begin > 3:
                log = (state / name / "log/node.log").read_text()[-1500:]
                raise FleetError(f"the node of {name} ended at once: {log}")
        time.sleep(0.1)


def crash(state: Path, item: Cluster) -> None:
    """Kill everything of one cluster at once, as a power cut would. ``up`` recreates it, empty."""
    victims = launchers(state, item.name)
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _wait_gone(item)


def _wait_gone(item: Cluster) -> None:
    """Wait for the end of the cluster's processes; the kernel needs a moment for a whole namespace."""
    end = time.monotonic() + 20
    while left := network.pids(item.netns):
        if time.monotonic() > end:
            raise FleetError(f"processes of {item.name} do not end: {left}")
        if time.monotonic() > end - 18:  # processes that entered the namespaces from outside
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def remove(state: Path, item: Cluster) -> None:
    """Remove one cluster with everything it has; fine if it is half there or gone."""
    for pid in launchers(state, item.name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _wait_gone(item)
    network.detach(item)
    cgroups.remove(item.name)
    remove_tree(state / item.name)


def remove_all(settings: Settings) -> list[str]:
    """Remove the whole fleet, after a crash too. Returns the names of the clusters that were there."""
    state = state_directory(settings)
    record = Record.load(state)
    subnet = IPv4Network(record.subnet) if record else settings.subnet
    names = {item.name for item in existing(state, subnet)}
    prefix = f"{PREFIX}-"
    names |= {name[len(prefix) :] for name in network.namespaces() if name != network.SWITCH}
    for pid in launchers(state):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for name in sorted(names):
        remove(state, cluster(name, subnet))
    network.remove_switch()
    network.release_netns_folder()
    cgroups.remove()
    for path in reversed(record.created if record else []):
        with contextlib.suppress(OSError):  # in use by something else by now, or gone
            os.rmdir(path)
    remove_tree(state)
    RUN_LINK.unlink(missing_ok=True)
    left = leftovers(state)
    if left:
        raise FleetError("not everything could be removed: " + "; ".join(left))
    return sorted(names)


def leftovers(state: Path) -> list[str]:
    """What is still there of a fleet that should be gone."""
    left = [f"process {pid}" for pid in launchers(state)]
    left += [f"network namespace {name}" for name in network.namespaces()]
    left += [f"link {network.HOST_LINK}"] if network.host_link_exists() else []
    left += [f"control group {path}" for path in cgroups.folders()]
    left += [f"directory {state}"] if state.exists() else []
    return left
