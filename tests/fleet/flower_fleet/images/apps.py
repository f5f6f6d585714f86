# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Images of apps: Flower's image and, as one more layer, the packages that an app declares, one of examples/ or of any folder."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import tomllib

from ..errors import FleetError
from ..settings import HERE, Settings
from . import layer
from .recipes import Recipe

EXAMPLES = HERE.parents[2] / "examples"
REGISTRY = "registry.example.com/federated-flower"
# What the Containerfiles of the app do: its dependencies without Flower, which stays as it is. One image serves ServerApps and ClientApps.
DEPENDENCIES = (
    "import re, tomllib; project = tomllib.load(open('/wheels/pyproject.toml', 'rb'))['project']; "
    "wanted = [*project.get('dependencies', []), *(one for part in ('server', 'client') for one in project.get('optional-dependencies', {}).get(part, []))]; "
    "print('\\n'.join(one for one in wanted if not re.match(r'flwr(?![\\w.-])', one)))"
)
INSTALLED = (
    "from importlib.metadata import distributions; "
    "print('\\n'.join(f'{one.name}=={one.version}' for one in distributions()))"
)


@dataclass(frozen=True)
class AppImage(layer.Layered):
    """The image of the app in examples/NAME, or in another folder, on top of ``base``, Flower's recipe."""

    name: str
    base: Recipe
    folder: Path | None = None

    @property
    def source(self) -> Path:
        """What the app declares."""
        return (self.folder or EXAMPLES / self.name) / "pyproject.toml"

    @property
    def reference(self) -> str:
        """What pods call the image: its version is that of the app."""
        match = re.search(r'^version = "(\S+)"', self.source.read_text(), re.M)
        if not match:
            raise FleetError(f"{self.source} has no version.")
        return f"{REGISTRY}/{self.name}:{match[1]}"

    def key(self) -> str:
        """Hash of what the app declares, of Flower's image, and of how it is made."""
        return layer.key(self.base.key(), [self.source, Path(__file__)])

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        packages = layer.Packages(self.base, settings, work, log)
        shutil.copy(self.source, packages.wheels / "pyproject.toml")
        for name, program in (("requirements.txt", DEPENDENCIES), ("constraints.txt", INSTALLED)):
            (packages.wheels / name).write_text(packages.run("/python/venv/bin/python", "-c", program))
        packages.install("/python/venv", ["-r", "requirements.txt", "-c", "constraints.txt"])
        packages.write(target, self.reference)


def of_folder(path: str, base: Recipe) -> AppImage:
    """The image of the app in any folder; its name is that of the app.

    Raises FleetError if there is no app that could have an image.
    """
    folder = Path(path).expanduser().absolute()
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        name = str(project["name"]).lower()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise FleetError(f"{folder} has no app: its pyproject.toml has to name one in [project] ({error!r}).") from None
    if not re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*", name):
        raise FleetError(f"{folder}: {name!r} cannot be the name of an image.")
    image = AppImage(name, base, folder)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", image.reference.rpartition(":")[2]):
        raise FleetError(f"{folder}: its version cannot be the tag of an image.")
    return image


def names() -> list[str]:
    """The apps of examples/ that have an image."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/Containerfile"))
