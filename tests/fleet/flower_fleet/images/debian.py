# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Unpacks the distribution's packages into a directory, without running their scripts.

apt resolves them against an empty package database, so it fetches exactly what they need, from the sources, proxies and
keys that the machine is set up with. No package manager ends up in the image.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..shell import run, run_logged

MERGED = ("bin", "sbin", "lib", "lib64")  # links into /usr, as on every current Debian and Ubuntu


def unpack(packages: Sequence[str], work: Path, log: Path) -> Path:
    """Fetch ``packages`` and all they depend on into ``work``; return the directory where they are unpacked."""
    debs, root, status = work / "debs", work / "unpacked", work / "status"
    (debs / "partial").mkdir(parents=True)
    status.touch()
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    run_logged(
        [
            "apt-get",
            "-y",
            "-q",
            "--no-install-recommends",
            "--download-only",
            "-o",
            f"Dir::State::status={status}",
            "-o",
            f"Dir::Cache::archives={debs}",
            "-o",
            "APT::Sandbox::User=root",
            "install",
            *packages,
        ],
        log,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
    )
    for deb in sorted(debs.glob("*.deb")):
        run(
            ["sh", "-ec", 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"', "unpack", deb, root]
        )
    return root


def loader(root: Path) -> Path:
    """The dynamic loader below ``root``, e.g. usr/lib64/ld-linux-x86-64.so.2."""
    return next(path for name in ("lib64", "lib") for path in sorted((root / "usr" / name).rglob("ld-linux*.so.*")))


def copy_program(root: Path, program: str, target: Path) -> None:
    """Copy ``program`` (a path in ``root``) and the libraries that the loader finds for it to the tree ``target``."""
    load = loader(root)
    listing = run(["chroot", root, f"/{load.relative_to(root)}", "--list", f"/{program}"]).stdout
    files = [word for word in listing.split() if word.startswith("/") and ".so" in word]
    interpreter = run(
        [
            "sh",
            "-c",
            'head -c 4096 "$1" | tr -c "[:print:]" "\\n" | grep -m1 "^/lib.*/ld-linux"',
            "interp",
            root / program,
        ]
    ).stdout.strip()
    for name in {program, *(file.lstrip("/") for file in files), interpreter.lstrip("/")}:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.write_bytes((root / name).resolve().read_bytes())
            place.chmod(0o755)
