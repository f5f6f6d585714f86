# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The image of rclone, which uploads outputs: rclone of its Go module (go/rclone/main.go says which parts), on Flower's image for its shell."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .. import golang
from ..binaries import RCLONE, module_version
from ..console import Console
from ..settings import Settings
from . import layer
from .recipes import Recipe

NAME = "rclone"


@dataclass(frozen=True)
class RcloneImage(layer.Layered):
    """The image, on top of ``base``, Flower's recipe."""

    base: Recipe
    name: str = NAME

    @property
    def reference(self) -> str:
        """What pods call the image."""
        version = module_version("github.com/rclone/rclone", RCLONE.source)
        return f"docker.io/rclone/rclone:{version.removeprefix('v')}"

    def key(self) -> str:
        """Hash of Flower's image, of what is built, and of how it is made."""
        return layer.key(self.base.key(), [Path(__file__), *sorted(RCLONE.source.iterdir())])

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        console = Console()
        go = golang.ensure(settings, console)
        with console.phase("Go build of rclone") as phase:
            program = RCLONE.make(settings, go, phase) / RCLONE.name
        folder = work / "root/usr/local/bin"
        folder.mkdir(parents=True)
        shutil.copy(program, folder / NAME)
        with layer.opened(self.base, settings) as archive:
            below, _packed = layer.of_flower(archive, "superexec")
        packed = layer.pack(work / "root", [f"usr/local/bin/{NAME}"], work)
        layer.write(target, self.reference, below, packed, {"Entrypoint": [NAME]})
