# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The execution environment of examples/awx-project, from the definition that ansible-builder builds for users.

What ansible-builder does, it does here, too: it collects what the collections need. Different are the distribution and its Python, which
are those of Flower's image below, and where the collections come from: this one from these files, those that it depends on from the package
C(ansible) of the Python that runs this. Versions are those of requirements/constraints.txt.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FleetError
from ..settings import HERE, Settings
from ..shell import run, run_logged
from . import layer
from .recipes import Recipe

ROOT = HERE.parents[2]
NAME = "awx-project"
DEFINITION = ROOT / "examples" / NAME / "execution-environment.yml"
REFERENCE = "registry.example.com/flower-ee:1"  # as in the guide
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"
ENVIRONMENT = "/opt/ansible"
PYTHON = "python"  # label of the environment's image: the Python that its packages are for
COLLECTIONS = "usr/share/ansible/collections"  # where Ansible looks, and where ansible-builder puts them
NEEDS = ("meta/execution-environment.yml", "meta/ee-requirements.txt", "meta/ee-bindep.txt", "galaxy.yml")
# Of the machine's distribution, which is that of the image; Ansible asks for a UTF-8 locale.
LOCALE = Path("/usr/lib/locale/C.utf8")


def _yaml(path: Path) -> Any:
    import yaml  # of the environment of the tests; the fleet itself does without it

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def settings_of(definition: dict[str, Any]) -> list[str]:
    """Environment variables that the definition sets in the image, each NAME=VALUE.

    Raises:
        FleetError: the definition has build steps that are not done here.
    """
    steps = [(stage, step) for stage, lines in definition.get("additional_build_steps", {}).items() for step in lines]
    others = [step for stage, step in steps if stage != "append_final" or not step.startswith("ENV ")]
    if others:
        raise FleetError(f"the fleet does not do these steps of {DEFINITION}: {others}.")
    return [word for _stage, step in steps for word in shlex.split(step)[1:]]


def _program(name: str) -> Path:
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise FleetError(f"{path} is missing. Run this with the Python of 'make venv': FLEET_PYTHON=$(make -s print-venv)/bin/python.")
    return path


def _outside() -> dict[str, str]:
    """Environment of Ansible's programs, which are not to find this collection in a staged copy."""
    return {**os.environ, "PYTHONPATH": "", "ANSIBLE_COLLECTIONS_PATH": os.devnull, "LANG": "C.UTF-8"}


def collections(work: Path, log: Path) -> Path:
    """Install the collections that the definition asks for into C(work), as ansible-galaxy does; returns the folder.

    Raises:
        FleetError: the definition asks for something else than this collection, or for another version.
    """
    from packaging.specifiers import SpecifierSet

    target = work / COLLECTIONS
    definition = _yaml(DEFINITION)
    galaxy = _yaml(DEFINITION.parent / definition["dependencies"]["galaxy"])
    mine = _yaml(ROOT / "galaxy.yml")
    asked = {one["name"]: SpecifierSet(one["version"]) for one in galaxy["collections"]}
    if list(asked) != [f"{mine['namespace']}.{mine['name']}"] or mine["version"] not in next(iter(asked.values())):
        raise FleetError(f"{DEFINITION} asks for other collections than this one: {galaxy['collections']}.")
    for name in mine["dependencies"]:
        place = name.replace(".", "/")
        source = Path(sysconfig.get_path("purelib"), "ansible_collections", place)
        shutil.copytree(source, target / "ansible_collections" / place, ignore=shutil.ignore_patterns("__pycache__"))
    command = [_program("ansible-galaxy"), "collection"]
    run_logged([*command, "build", "--output-path", work], log.with_suffix(".build.log"), cwd=ROOT, env=_outside())
    (archive,) = work.glob("*.tar.gz")  # its files are those that a Galaxy server would have
    install = ["install", "--offline", "--no-deps", "-p", target, archive]
    run_logged([*command, *install], log.with_suffix(".galaxy.log"), env=_outside())
    archive.unlink()
    return target


@dataclass(frozen=True)
class Environment(layer.Layered):
    """Ansible, ansible-runner and the Python packages that the collections need."""

    base: Recipe
    name = f"{NAME}-environment"
    reference = f"{REFERENCE}-environment"

    def key(self) -> str:
        """Hash of the definition, of what it leads to, of Flower's image, and of how it is made."""
        return layer.key(self.base.key(), [DEFINITION, *(ROOT / name for name in NEEDS), CONSTRAINTS, Path(__file__)])

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        definition = _yaml(DEFINITION)
        dependencies = definition["dependencies"]
        variables = settings_of(definition)
        introspected = [f"--write-{kind}={work / kind}" for kind in ("pip", "bindep")]
        found = collections(work / "collections", log)
        introspect = [_program("ansible-builder"), "introspect", "--sanitize", *introspected, found]
        run_logged(introspect, log.with_suffix(".introspect.log"), env=_outside())
        system = self._missing(work / "bindep")
        if system:
            raise FleetError(f"the collections need packages of the distribution that the image does not have: {', '.join(system)}.")
        packages = layer.Packages(self.base, settings, work, log)
        packages.run("/usr/bin/python3", "-m", "venv", "--without-pip", ENVIRONMENT)
        shutil.copy(CONSTRAINTS, packages.wheels / "constraints.txt")
        shutil.copy(work / "pip", packages.wheels / "requirements.txt")
        tools = [dependencies[name]["package_pip"] for name in ("ansible_core", "ansible_runner")]
        packages.install(ENVIRONMENT, [*tools, "-r", "requirements.txt", "-c", "constraints.txt"])
        (packages.root / "runner").mkdir(mode=0o775)
        shutil.copytree(LOCALE, packages.root / LOCALE.relative_to("/"))
        config = {
            "Entrypoint": [],
            "Cmd": ["ansible-runner", "--version"],
            "User": "1000:0",
            "WorkingDir": "/runner",
            "Env": [f"PATH={ENVIRONMENT}/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", *variables],
            "Labels": {PYTHON: packages.version},
        }
        packages.write(target, self.reference, config)

    @staticmethod
    def _missing(listing: Path) -> list[str]:
        """Packages of the distribution that the collections need, by their rules for this machine's."""
        if not listing.exists():
            return []
        return run([_program("bindep"), "--list_all", "newline", "--file", listing]).stdout.split()


@dataclass(frozen=True)
class ExecutionEnvironment(layer.Layered):
    """The environment and the collections. They change often and are put together in seconds."""

    environment: Environment
    name = NAME
    reference = REFERENCE

    @property
    def archives(self) -> Sequence[layer.Layered]:
        """Both."""
        return [self.environment, self]

    def key(self) -> str:
        """Hash of the environment and of the files of this collection."""
        digest = hashlib.sha256(self.environment.key().encode())
        for folder in ("galaxy.yml", "meta", "playbooks", "plugins", "roles"):
            top = ROOT / folder
            found = [top] if top.is_file() else [path for path in top.rglob("*") if path.is_file()]
            for path in sorted(path for path in found if "__pycache__" not in path.parts):
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive."""
        root = work / "root"
        collections(root, log)
        below = layer.described(self.environment.path(settings))
        version = below.config["config"]["Labels"][PYTHON]
        python = sys.executable if version == f"python3.{sys.version_info.minor}" else shutil.which(version)
        if python:  # else every job compiles them, since it cannot write beside them
            # As in flower.py: valid whatever the times of the sources.
            compile_all = ["-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/"]
            run_logged([python, *compile_all, root / COLLECTIONS], log.with_suffix(".compile.log"))
        layer.write(target, self.reference, below, layer.pack(root, sorted(layer.files(root)), work))
