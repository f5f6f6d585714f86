# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""HAProxy under the official image's name: the distribution's program and libraries, with busybox as its shell."""

from __future__ import annotations

from pathlib import Path

from ..settings import HAPROXY_TAG
from . import archive, debian

IMAGE = f"docker.io/library/haproxy:{HAPROXY_TAG}"


def finish(target: Path, source: Path, root: Path) -> None:
    """Add HAProxy from ``source`` (unpacked packages) to ``root`` (shell and small tools), and write the archive."""
    debian.copy_program(source, "usr/sbin/haproxy", root)
    local = root / "usr/local/sbin"  # where the official image has it
    local.mkdir(parents=True)
    (local / "haproxy").symlink_to("/usr/sbin/haproxy")
    (root / "usr/local/etc/haproxy").mkdir(parents=True)
    with (root / "etc/passwd").open("a") as accounts:
        accounts.write("haproxy:x:99:99:haproxy:/var/lib/haproxy:/bin/sh\n")
    with (root / "etc/group").open("a") as groups:
        groups.write("haproxy:x:99:\n")
    (root / "var/lib/haproxy").mkdir(parents=True)
    archive.write(
        target,
        root,
        [
            (
                IMAGE,
                {
                    "Cmd": ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"],
                    "User": "99:99",
                    "WorkingDir": "/var/lib/haproxy",
                    "StopSignal": "SIGUSR1",
                    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                },
            )
        ],
    )
