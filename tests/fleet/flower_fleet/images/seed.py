# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The seed image store: one containerd imports every image once, all nodes share the result.

A node gets a copy of the two small databases, hard links to the content, and read-only bind mounts of the unpacked
layers (made by node.sh). Importing into each node instead costs a second store and several seconds per cluster.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ..console import Phase
from ..errors import FleetError
from ..settings import Settings, process_environment
from ..shell import CONTAINED, run

CONTENT = Path("io.containerd.content.v1.content/blobs/sha256")
OVERLAY = Path("io.containerd.snapshotter.v1.overlayfs")
DATABASES = (Path("io.containerd.metadata.v1.bolt/meta.db"), OVERLAY / "metadata.db")
DISABLED = (
    "io.containerd.snapshotter.v1.aufs",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.internal.v1.tracing",
    "io.containerd.tracing.processor.v1.otlp",
)


def folder(settings: Settings, archives: Sequence[Path]) -> Path:
    """Place of the store for ``archives``, whose names carry the keys of their content."""
    digest = hashlib.sha256(" ".join(sorted(path.name for path in archives)).encode())
    return settings.cache / "seed" / digest.hexdigest()[:16]


def ensure(settings: Settings, archives: Sequence[Path], phase: Phase) -> Path:
    """Import ``archives`` unless the cache has the result."""
    done = folder(settings, archives)
    if done.is_dir():
        phase.note = "cached"
        return done
    partial = done.with_name(f"{done.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    socket = partial / "containerd.sock"
    disabled = ", ".join(
        f'"{name}"' for name in (*DISABLED, "io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt")
    )
    (partial / "containerd.toml").write_text(
        f'version = 2\nroot = "{partial}/root"\nstate = "{partial}/state"\ndisabled_plugins = [{disabled}]\n'
        f'[grpc]\naddress = "{socket}"\n'
    )
    log = settings.logs / "seed.log"
    env = process_environment()
    ctr = ["ctr", "--address", str(socket), "--namespace", "k8s.io"]
    with log.open("w") as out:
        daemon = subprocess.Popen(
            [*CONTAINED, "containerd", "--config", str(partial / "containerd.toml")],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            end = time.monotonic() + 30
            while run([*ctr, "version"], check=False, env=env).returncode:
                if time.monotonic() > end or daemon.poll() is not None:
                    raise FleetError(f"containerd does not start; see {log}.")
                time.sleep(0.05)
            for archive in archives:
                phase.note = archive.name
                run([*ctr, "images", "import", str(archive)], env=env, contained=True)
        finally:
            _stop(daemon)
    for name in ("state", "containerd.sock", "containerd.sock.ttrpc"):
        path = partial / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    partial.rename(done)
    phase.note = f"{len(archives)} archives"
    return done


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    """End containerd, the only child of ``daemon`` (unshare), gently, so that its databases are complete."""
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
    for pid in children.read_text().split() if children.exists() else ():
        os.kill(int(pid), 15)
    try:
        daemon.wait(timeout=20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def plant(seed: Path, target: Path) -> None:
    """Lay out containerd's root ``target`` of one node on top of the seed store."""
    source = seed / "root"
    for sub in (CONTENT, OVERLAY / "snapshots", *(path.parent for path in DATABASES)):
        (target / sub).mkdir(parents=True, exist_ok=True)
    for blob in (source / CONTENT).iterdir():
        os.link(blob, target / CONTENT / blob.name)
    for database in DATABASES:
        shutil.copy(source / database, target / database)
    for snapshot in snapshots(seed).iterdir():
        (target / OVERLAY / "snapshots" / snapshot.name).mkdir()


def snapshots(seed: Path) -> Path:
    """Folder of the unpacked layers."""
    return seed / "root" / OVERLAY / "snapshots"
