# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""socat under the name of Alpine's image: the distribution's program and libraries, with busybox as its shell."""

from __future__ import annotations

from pathlib import Path

from ..settings import SOCAT_TAG
from . import archive, debian

IMAGE = f"docker.io/alpine/socat:{SOCAT_TAG}"


def finish(target: Path, source: Path, root: Path) -> None:
    """Add socat from ``source`` (unpacked packages) to ``root`` (shell and small tools), and write the archive."""
    debian.copy_program(source, "usr/bin/socat", root)
    archive.write(target, root, [(IMAGE, {"Entrypoint": ["socat"], "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]})])
