# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Flower's images of another release than the fleet's, such as docker.io/flwr/superlink:1.41.0, for tests of upgrades.

Each is the fleet's own image and, as one more layer, the package flwr of that release, which Python finds first. So it has the libraries of
the fleet's release: that is good for releases that declare the same ones, as 1.40.0 to 1.42.0 do, but for newer CAs and a newer uv, which only
installs the packages of apps.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import FleetError
from ..settings import Settings
from ..shell import run_logged
from . import layer
from .flower import PROGRAMS, VERSION
from .recipes import Recipe

PREFIX = "flower-"
# Of the machine's distribution, as the image's: what it compiles fits.
PYTHON = Path("/usr/bin/python3")


@dataclass(frozen=True)
class FormerRelease(layer.Layered):
    """The image of one program; the archives are those of all."""

    version: str
    base: Recipe
    program: str = PROGRAMS[0]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d+\.\d+\.\d+", self.version) or self.version == VERSION:
            raise FleetError(f"{self.version!r} is not another release of Flower than {VERSION}.")

    @property
    def name(self) -> str:
        """Name of the archive."""
        return f"{PREFIX}{self.version}-{self.program}"

    @property
    def reference(self) -> str:
        """What pods call the image."""
        return f"docker.io/flwr/{self.program}:{self.version}"

    @property
    def archives(self) -> Sequence[layer.Layered]:
        """Those of all programs."""
        return [FormerRelease(self.version, self.base, program) for program in PROGRAMS]

    def key(self) -> str:
        """Hash of the release, of Flower's image below, and of how it is made."""
        return layer.key(f"{self.base.key()} {self.version}", [Path(__file__)])

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        root = work / "root"
        place = root / f"flwr-{self.version}"
        install = ["install", "-q", "--no-deps", "--no-compile", "--only-binary=:all:", "--target", place, f"flwr=={self.version}"]
        run_logged([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], log)
        # As in flower.py: valid whatever the times of the sources. Files that are no Python of this release are never imported.
        compile_all = ["-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/", place]
        subprocess.run([str(word) for word in [PYTHON, *compile_all]], stdout=subprocess.DEVNULL, check=False)
        if not list((place / "flwr" / "__pycache__").glob("__init__.*.pyc")):
            raise FleetError(f"the modules of flwr {self.version} were not compiled.")
        with layer.opened(self.base, settings) as archive:
            below, _packed = layer.of_flower(archive, self.program)
        env = [*below.config["config"]["Env"], f"PYTHONPATH=/{place.name}"]
        layer.write(target, self.reference, below, layer.pack(root, sorted(layer.files(root)), work), {"Env": env})
