# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Writes a container image as the one-layer archive that ``ctr images import`` reads."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..shell import run

EPOCH = "1970-01-01T00:00:00Z"


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def write(target: Path, root: Path, images: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Pack the directory ``root`` as one layer that all ``images``, pairs of (name, OCI config), share.

    File times are set to zero, so the same content gives the same archive.
    """
    layer = target.with_name(f"{target.name}.layer")
    try:
        run(
            ["tar", "--sort=name", "--mtime=@0", "--numeric-owner", "-C", root, "-cf", layer, "."],
            contained=True,
        )
        digest = hashlib.sha256()
        with layer.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        architecture = run(["dpkg", "--print-architecture"]).stdout.strip()
        manifest = []
        with tarfile.open(target, "w") as archive:
            for name, config in images:
                body = json.dumps(
                    {
                        "architecture": architecture,
                        "os": "linux",
                        "created": EPOCH,
                        "config": dict(config),
                        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest.hexdigest()}"]},
                        "history": [{"created": EPOCH}],
                    },
                    sort_keys=True,
                ).encode()
                file = f"{hashlib.sha256(body).hexdigest()}.json"
                _add(archive, file, body)
                manifest.append({"Config": file, "RepoTags": [name], "Layers": ["layer.tar"]})
            _add(archive, "manifest.json", json.dumps(manifest).encode())
            archive.add(layer, "layer.tar")
    finally:
        layer.unlink(missing_ok=True)
