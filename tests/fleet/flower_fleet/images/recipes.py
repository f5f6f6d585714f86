# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The images of the fleet: what they are called, how they are made, and the key of what goes in."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..binaries import module_version
from ..console import Phase
from ..golang import Go
from ..host import suite
from ..settings import BUSYBOX_IMAGE, COREDNS_IMAGE, GO_DIR, PAUSE_IMAGE, Settings
from ..shell import run
from . import archive, debian, flower, haproxy, socat

# fmt: off
SMALL_TOOLS = [
    "awk", "cat", "chmod", "chown", "cp", "cut", "date", "echo", "env", "false", "find", "grep", "head", "hostname",
    "httpd", "id", "ip", "kill", "ln", "ls", "mkdir", "mv", "nc", "nslookup", "printf", "ps", "rm", "sed", "sh",
    "sha256sum", "sleep", "sort", "stat", "tail", "tee", "test", "timeout", "touch", "tr", "true", "uniq", "vi", "wc",
    "wget",
]
# fmt: on


@dataclass(frozen=True)
class Context:
    """What a recipe works with: a scratch directory, a log, the archive to write, and Go's results."""

    work: Path
    log: Path
    target: Path
    go: Go
    programs: Path | None
    phase: Phase


@dataclass(frozen=True)
class Recipe:
    """One archive in the cache, with one or more images."""

    name: str
    inputs: tuple[str, ...]
    make: Callable[[Context], None]
    needs_go: bool = False

    def key(self) -> str:
        """Hash of the inputs, the release of the distribution and the recipes' sources."""
        digest = hashlib.sha256(repr((self.name, self.inputs, suite())).encode())
        shared = ["archive.py", "debian.py"]
        for file in [*shared, f"{self.name}.py" if self.name in ("flower", "haproxy", "socat") else "recipes.py"]:
            digest.update(Path(__file__).with_name(file).read_bytes())
        return digest.hexdigest()[:16]

    def path(self, settings: Settings) -> Path:
        """Place of the archive in the cache."""
        return settings.cache / "images" / f"{self.name}-{self.key()}.tar"

    def ensure(self, settings: Settings, go: Go, programs: Path | None, phase: Phase) -> Path:
        """Make the archive unless the cache has it."""
        done = self.path(settings)
        if done.exists():
            phase.note = "cached"
            return done
        done.parent.mkdir(parents=True, exist_ok=True)
        work = done.with_name(f"{done.name}.work.partial")
        target = done.with_name(f"{done.name}.partial")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        self.make(Context(work, settings.logs / f"image-{self.name}.log", target, go, programs, phase))
        target.rename(done)
        shutil.rmtree(work)
        return done


def _pause(context: Context) -> None:
    """Kubernetes' own pause program, from its module."""
    module = run(
        [context.go.command, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"],
        cwd=GO_DIR / "kubernetes",
        env=context.go.environment(),
    ).stdout.strip()
    root = context.work / "root"
    root.mkdir()
    run(["gcc", "-Os", "-static", "-DVERSION=fleet", "-o", root / "pause", f"{module}/build/pause/linux/pause.c"])
    archive.write(context.target, root, [(PAUSE_IMAGE, {"Entrypoint": ["/pause"], "User": "65535:65535"})])


def _busybox(context: Context) -> None:
    root = context.work / "root"
    source = debian.unpack(["busybox", "libc6"], context.work, context.log)
    small_tools(source, root)
    archive.write(context.target, root, [(BUSYBOX_IMAGE, {"Cmd": ["sh"], "Env": ["PATH=/bin"]})])


def small_tools(source: Path, root: Path) -> None:
    """Put busybox with its libraries, a temporary directory and root's account into ``root``."""
    program = next(name for name in ("usr/bin/busybox", "bin/busybox") if (source / name).exists())
    debian.copy_program(source, program, root)
    (root / "bin").mkdir(exist_ok=True)
    for tool in SMALL_TOOLS:
        (root / "bin" / tool).symlink_to(f"/{program}")
    for folder in ("tmp", "etc", "run", "proc", "dev", "sys"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    # The C library asks these for names: libnss_dns is part of libc itself since glibc 2.34, files and dns suffice.
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")


def _coredns(context: Context) -> None:
    assert context.programs is not None
    root = context.work / "root"
    root.mkdir()
    shutil.copy(context.programs / "coredns", root / "coredns")
    archive.write(context.target, root, [(COREDNS_IMAGE, {"Entrypoint": ["/coredns"]})])


def _flower(context: Context) -> None:
    flower.make(context.target, context.work, context.log)


def _haproxy(context: Context) -> None:
    source = debian.unpack(["haproxy", "busybox", "libc6"], context.work, context.log)
    root = context.work / "root"
    small_tools(source, root)
    haproxy.finish(context.target, source, root)


def _socat(context: Context) -> None:
    source = debian.unpack(["socat", "busybox", "libc6"], context.work, context.log)
    root = context.work / "root"
    small_tools(source, root)
    socat.finish(context.target, source, root)


def recipes(programs_key: str) -> list[Recipe]:
    """Every image of the fleet. Those with needs_go wait for the Go builds."""
    version = module_version("k8s.io/kubernetes", GO_DIR / "kubernetes")
    return [
        Recipe("flower", (flower.VERSION, *flower.IMAGES), _flower),
        Recipe("haproxy", (haproxy.IMAGE,), _haproxy),
        Recipe("socat", (socat.IMAGE,), _socat),
        Recipe("busybox", (BUSYBOX_IMAGE,), _busybox),
        Recipe("pause", (PAUSE_IMAGE, version), _pause, needs_go=True),
        Recipe("coredns", (COREDNS_IMAGE, programs_key), _coredns, needs_go=True),
    ]
