# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Flower's images: the distribution's Python and the flwr package, one layer for all three names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..errors import FleetError
from ..settings import FLOWER_VERSION
from ..shell import run, run_logged
from . import archive, debian

VERSION = FLOWER_VERSION
PROGRAMS = ("superlink", "supernode", "superexec")
IMAGES = tuple(f"docker.io/flwr/{program}:{VERSION}" for program in PROGRAMS)
UID = 49999  # of the user app in Flower's own images
PACKAGES = ("python3", "python3-venv", "libstdc++6", "busybox")
TOOLS = ("sh", "cat", "ls", "cp", "mkdir", "sleep", "kill", "id", "env", "date", "grep", "tail", "head", "ps", "chmod")
# Removed before anything is compiled.
LEFT_OUT = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/perl5",
    "usr/share/python-wheels",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/bash-completion",
    "usr/bin/openssl",
    "usr/bin/dpkg*",
    "usr/lib/*/perl*",
    "usr/lib/python3/dist-packages/lib2to3*",
    "var/lib/dpkg",
    "python/venv/lib/*/site-packages/numpy/*/tests",
    "python/venv/lib/*/site-packages/grpc_tools",
)


def make(target: Path, work: Path, log: Path) -> None:
    """Build the archive ``target`` with the three images, using the scratch directory ``work``."""
    root = debian.unpack(PACKAGES, work, log)
    version = next(path.name for path in sorted((root / "usr/lib").glob("python3.*")))
    for folder in ("proc", "dev", "sys", "tmp", "run", "app", "wheels"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    os.chown(root / "app", UID, UID)
    (root / "etc/passwd").write_text(f"root:x:0:0:root:/root:/bin/sh\napp:x:{UID}:{UID}:app:/app:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\napp:x:{UID}:\n")
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    busybox = next(name for name in ("/usr/bin/busybox", "/bin/busybox") if (root / name.lstrip("/")).exists())
    for tool in TOOLS:
        if not os.path.lexists(root / "usr/bin" / tool):
            (root / "usr/bin" / tool).symlink_to(busybox)
    run_logged(["chroot", root, f"/usr/bin/{version}", "-m", "venv", "--without-pip", "/python/venv"], log.with_suffix(".venv.log"))
    install(root, root / "usr/bin" / version, work, log.with_suffix(".install.log"))
    site = root / "python/venv/lib" / version / "site-packages"
    for path in [path for pattern in LEFT_OUT for path in root.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    # Compiled files that are valid whatever the sources' times: the archive sets those to zero, and the images' user
    # may not write, so ordinary ones would be stale and every start would compile everything. In one process: the new
    # root has no /dev/shm, by which many would talk.
    said = run(
        [
            "chroot",
            root,
            "/python/venv/bin/python",
            "-m",
            "compileall",
            "-q",
            "-f",
            "--invalidation-mode",
            "unchecked-hash",
            f"/python/venv/lib/{version}",
            f"/usr/lib/{version}",
        ],
        check=False,  # some modules are no Python of this version, and are never imported
        contained=True,
    ).stdout
    if not list((site / "flwr" / "__pycache__").glob("__init__.*.pyc")):
        raise FleetError(f"the modules of flwr were not compiled: {said[-2000:]}")
    archive.write(
        target,
        root,
        [
            (
                name,
                {
                    "Entrypoint": [f"flower-{program}"],
                    "User": str(UID),
                    "WorkingDir": "/app",
                    "Env": [
                        "PATH=/python/venv/bin:/usr/local/bin:/usr/bin:/bin",
                        "HOME=/app",
                        "PYTHONDONTWRITEBYTECODE=1",
                        "PYTHONUNBUFFERED=1",
                        "LANG=C.UTF-8",
                    ],
                },
            )
            for program, name in zip(PROGRAMS, IMAGES)
        ],
    )


def install(root: Path, python: Path, work: Path, log: Path) -> None:
    """Install flwr into the image's environment, with the pip that the image's Python has for new environments.

    It runs outside of the image: so it reads the machine's settings for package indexes, proxies and certificates. It is
    the image's Python, so it picks what fits the image.
    """
    pip, site = work / "pip", root / "python/venv/lib" / python.name / "site-packages"
    shutil.unpack_archive(next((root / "usr/share/python-wheels").glob("pip-*.whl")), pip, "zip")
    options = ["--no-compile", "--only-binary=:all:", "--disable-pip-version-check", "--progress-bar=off"]
    run_logged(
        [python, "-m", "pip", "install", *options, "--target", site, f"flwr=={VERSION}", "numpy"],
        log,
        env={
            **os.environ,
            "PYTHONHOME": str(root / "usr"),
            "PYTHONPATH": str(pip),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_LIBRARY_PATH": ":".join(sorted({str(path.parent) for path in (root / "usr/lib").rglob("libssl.so*")})),
            "TMPDIR": str(work),  # pip moves what it installs from there
        },
    )
    # Its programs name the Python that pip ran with.
    for program in (site / "bin").iterdir():
        program.write_bytes(program.read_bytes().replace(str(python).encode(), b"/python/venv/bin/python"))
        program.rename(root / "python/venv/bin" / program.name)
    (site / "bin").rmdir()
