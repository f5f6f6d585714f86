# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""SeaweedFS with its S3 server for the hub: a process in the hub's namespaces, with TLS by the cluster's CA and a store that begins empty.

Pods of the hub and the machine reach it at the node's address. It makes a bucket when the first object is written to it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
from pathlib import Path

from .. import golang
from ..binaries import SEAWEEDFS
from ..clusters.lifecycle import commands_from, entering
from ..console import Console
from ..settings import Cluster, Settings, process_environment
from .base import until

PORT = 8333
# Of its other servers, which only it needs; the usual ones may be taken.
_PORTS = {"master.port": 9333, "volume.port": 8380, "filer.port": 8888, "s3.port.iceberg": 0, "s3.port.lance": 0}
KEY_ID = "fleet"


def up(settings: Settings, console: Console, state: Path, hub: Cluster) -> None:
    """Build it if the cache has it not, start it with an empty store, wait until it answers."""
    go = golang.ensure(settings, console)
    with console.phase("Go build of SeaweedFS") as phase:
        program = SEAWEEDFS.make(settings, go, phase) / "weed"
    folder = _folder(state, hub)
    with console.phase("SeaweedFS on the hub") as phase:
        if not _pids(settings):
            _start(program, folder, state, hub)
        until(lambda: _answers(hub, folder), f"SeaweedFS does not answer, log: {_log(state, hub)}")
        phase.note = f"https://{hub.address}:{PORT}, CA {folder / 'ca.crt'}, access key {folder / 'key.json'}"


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Stop it, and remove what it has stored."""
    for pid in _pids(settings):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not _pids(settings), "SeaweedFS does not end")
    if _folder(state, hub).exists():
        shutil.rmtree(_folder(state, hub))


def command(program: Path, folder: Path, address: str) -> list[str]:
    """The command line of the server with all its parts."""
    ports = [f"-{name}={number}" for name, number in _PORTS.items()]
    tls = [f"-s3.cert.file={folder / 's3.crt'}", f"-s3.key.file={folder / 's3.key'}"]
    store = [f"-dir={folder / 'data'}", "-volume.max=20", "-master.volumeSizeLimitMB=256"]
    return [str(program), "server", "-s3", f"-ip={address}", "-ip.bind=0.0.0.0", f"-s3.port={PORT}", *ports, *tls, *store]


def _folder(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "seaweedfs"


def _log(state: Path, hub: Cluster) -> Path:
    return state / hub.name / "log/seaweedfs.log"


def _pids(settings: Settings) -> list[int]:
    return commands_from(settings.cache / "bin" / f"{SEAWEEDFS.name}-")


def _start(program: Path, folder: Path, state: Path, hub: Cluster) -> None:
    from cryptography.x509.oid import ExtendedKeyUsageOID

    from ..clusters import pki  # needs cryptography, which ``up`` installs if it is missing

    if folder.exists():
        shutil.rmtree(folder)
    (folder / "data").mkdir(parents=True)
    authority = pki.Authority.create(folder, "ca", "seaweedfs-ca")
    authority.issue("s3", "seaweedfs", ExtendedKeyUsageOID.SERVER_AUTH, names=pki.addresses(hub.address, "127.0.0.1"))
    key = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": secrets.token_hex(24)}
    pki.write_private(folder / "key.json", json.dumps(key).encode())
    with _log(state, hub).open("a") as log:
        subprocess.Popen(
            [*entering(state, hub), *command(program, folder, hub.address)],
            env={**process_environment(), **key},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
        )


def _answers(hub: Cluster, folder: Path) -> bool:
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    try:
        with socket.create_connection((hub.address, PORT), timeout=5) as connection, context.wrap_socket(connection, server_hostname=hub.address) as tls:
            tls.sendall(b"GET /status HTTP/1.1\r\nHost: s3\r\nConnection: close\r\n\r\n")
            return b" 200 " in tls.recv(64)
    except OSError:
        return False
