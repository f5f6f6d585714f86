# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Flower app on the control node: its content, and what of it is sent to the SuperLink.

Flower packs an app itself (C(flwr.cli.build), flwr 1.41) and keeps only certain files. The same rule is applied here, a
little more generously, so that data sets and environments beside the code are not sent, and so that what Flower would
refuse, or omit silently, is reported before anything is submitted.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import tomllib

from ..base import foreign_data, formats
from . import app_checks
from .cli import FlowerError

PROJECT = "pyproject.toml"

# flwr.supercore.constant.APP_PUBLISH_INCLUDE_PATTERNS; a file of another kind is never part of an app.
SUFFIXES = frozenset({".py", ".toml", ".md", ".yaml", ".yml", ".json", ".jsonl"})
GITIGNORE = ".gitignore"
ROOT_FILES = frozenset({"LICENSE", GITIGNORE})

# Folders that flwr.common.constant.FAB_EXCLUDE_PATTERNS leaves out, at any depth and in the app's root folder; and .git.
SKIPPED = frozenset({"__pycache__", ".git"})
SKIPPED_IN_ROOT = frozenset({".flwr", "build", "eggs", ".eggs", "lib", "lib64", "parts", ".venv", "env", "venv", "ENV", "env.bak", "venv.bak"})

# Files beside the code that no app opens: what Flower leaves out of these is not worth a word.
_ASIDE = frozenset({".pyc", ".ipynb", ".lock", ".sh", ".typed", ".ini", ".cfg"})
_ASIDE_NAMES = frozenset({"LICENSE", "NOTICE", "Makefile", "Dockerfile", "Containerfile"})
_NAMED = 5  # files in a warning
_DATA = "Bring data to the sites (flower_run_datasets), and send what a run begins with, such as a model (flower_run_inputs)"

FAB_LIMIT = 10 * 1024 * 1024  # bytes of the packed app: flwr.common.constant.FAB_MAX_SIZE
# What zipfile raises for files that are damaged, besides what any data can.
_NO_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError)
SEND_LIMIT = 64 * 1024 * 1024  # bytes of the files: they travel through the API server and the memory of a pod
_NEEDED = (
    ("project", "name"),
    ("project", "version"),
    ("tool", "flwr", "app", "publisher"),
    ("tool", "flwr", "app", "components", "serverapp"),
    ("tool", "flwr", "app", "components", "clientapp"),
)


@dataclass(frozen=True)
class App:
    """An app that is ready to be sent.

    Attributes:
        name: C(publisher/name).
        version: its version.
        defaults: its run config, nested tables flattened with dots.
        files: path inside the app -> content.
        warnings: messages for the user about it.
        dependencies: the packages that it declares.
    """

    name: str
    version: str
    defaults: dict[str, Any]
    files: dict[str, bytes]
    warnings: list[str] = field(default_factory=list)
    dependencies: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    def archive(self) -> bytes:
        """The files as a tar file, compressed. Same files, same bytes."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, content in sorted(self.files.items()):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        return zlib.compress(packed.getvalue(), wbits=31)  # 31: in the form of gzip, without a time


def load(path: str | os.PathLike[str]) -> App:
    """Read an app: a folder with a C(pyproject.toml), or a bundle made by C(flwr build).

    Raises:
        FlowerError: it is not an app, is too big, or contains links to targets outside of it.
    """
    where = Path(path).expanduser()
    if "://" in str(path) or str(path).startswith("@"):
        raise FlowerError(f"the app {path} is not on the control node: clone or download it, and name the folder or the .fab file")
    if not where.is_dir() and not (where.is_file() and where.suffix == ".fab"):
        raise FlowerError(f"the app {where.absolute()} {'is neither a folder nor a .fab file' if where.exists() else 'does not exist'}")
    try:
        files, warnings = read_folder(where.resolve()) if where.is_dir() else (read_bundle(where), [])
    except OSError as error:
        raise FlowerError(
            f"a part of the app cannot be read: {error.filename}: {error.strerror}. Correct its permissions, or exclude it with {GITIGNORE}."
        ) from error
    # Editors of Windows begin files with it, and neither Flower's nor Python's reader of TOML takes it.
    files = {name: content.removeprefix(codecs.BOM_UTF8) if name == PROJECT else content for name, content in files.items()}
    project = read_project(where, files)
    try:
        # Connections of apps for Flower before 1.26: Flower would move them to its own configuration, which is read-only in the SuperLink's pod.
        files = {**files, PROJECT: app_checks.without_key(files[PROJECT].decode(), "tool", "flwr", "federations").encode()}
    except ValueError as error:
        raise FlowerError(
            f"the app {where.absolute()}: {PROJECT}: remove [tool.flwr.federations] from it: Flower has not read connections there since 1.26"
        ) from error
    app = project["tool"]["flwr"]["app"]
    # With its own patterns the app may be smaller than what is measured here; Flower then reports the real size.
    if GITIGNORE not in files and not {"fab-include", "fab-exclude"} & set(app):
        packed = sum(len(zlib.compress(content)) for content in files.values())
        if packed > FAB_LIMIT:
            sizes = {name: len(content) for name, content in files.items()}
            why = f"{packed / 2**20:.1f} MiB packed, Flower accepts at most 10 MiB"
            raise _too_big(where.absolute(), sizes, why, f"fab-exclude in [tool.flwr.app] or {GITIGNORE}")
    faults, notes = app_checks.check_code(files, project)
    if faults:
        raise FlowerError(
            f"the app {where.absolute()} would be refused by Flower: {'; '.join(faults)}. Correct it. If it needs a newer Python than the control "
            f"node's, set requires-python in [project] of its {PROJECT}: then this is a warning."
        )
    dependencies = project["project"].get("dependencies", [])
    if not isinstance(dependencies, list) or not all(isinstance(one, str) for one in dependencies):
        raise FlowerError(f"the app {where.absolute()}: [project] dependencies in {PROJECT} is not a list of strings: {dependencies!r}")
    return App(
        name=f"{app['publisher']}/{project['project']['name']}",
        version=str(project["project"]["version"]),
        defaults=flatten(app.get("config", {})),
        files=files,
        warnings=warnings + notes,
        dependencies=tuple(dependencies),
    )


def read_folder(root: Path) -> tuple[dict[str, bytes], list[str]]:
    """Read the files of a folder that can be part of an app, without those that C(.gitignore) leaves out, and warn about unexpected omissions."""

    def refuse(error: OSError) -> None:
        raise error

    sizes: dict[str, int] = {}
    links: list[str] = []
    left_out: dict[str, int] = {}
    try:
        ignored = app_checks.Ignored((root / GITIGNORE).read_bytes() if (root / GITIGNORE).is_file() else b"")
    except ValueError as error:
        raise FlowerError(f"the app {root}: {GITIGNORE}: {error}. Correct the line.") from error
    for folder, folders, names in os.walk(root, onerror=refuse):
        inside = Path(folder).relative_to(root)
        skipped = SKIPPED | SKIPPED_IN_ROOT if inside == Path() else SKIPPED
        folders[:] = sorted(name for name in folders if name not in skipped and not ignored.folder((inside / name).as_posix()))
        for name in [*folders, *sorted(names)]:
            path = Path(folder, name)
            relative = (inside / name).as_posix()
            if ignored.file(relative) and relative != GITIGNORE:
                continue
            if path.is_symlink():
                if not path.resolve().is_relative_to(root):
                    raise FlowerError(
                        f"the app {root} has a symbolic link to a target outside the folder: {relative} -> {os.readlink(path)}. Flower leaves "
                        "links out of apps: replace the link with a copy, or remove it."
                    )
                links.append(relative)
            elif name in folders or not stat.S_ISREG((seen := path.stat()).st_mode):
                continue
            elif PurePosixPath(relative).suffix in SUFFIXES or relative in ROOT_FILES:
                sizes[relative] = seen.st_size
            elif not _is_aside(relative):
                left_out[relative] = seen.st_size
    if sum(sizes.values()) > SEND_LIMIT:  # before they are read: they may be larger than the memory
        raise _too_big(root, sizes, f"more than {SEND_LIMIT >> 20} MiB to send", GITIGNORE)
    found = [f"Flower leaves links out of apps: {', '.join(links)} in {root}"] if links else []
    if left_out:
        kinds = ", ".join(sorted(SUFFIXES))
        found.append(f"Flower packs only {kinds}, so these files are not part of the app {root}: {_largest(left_out, _NAMED)}. {_DATA}")
    return {name: (root / name).read_bytes() for name in sizes}, found


def _is_aside(path: str) -> bool:
    """Whether a file is one that no app opens: of an editor, a build, or for people."""
    parts = PurePosixPath(path)
    return any(part.startswith(".") for part in parts.parts) or parts.suffix in _ASIDE or parts.stem in _ASIDE_NAMES


def read_bundle(bundle: Path) -> dict[str, bytes]:
    """Read a bundle of C(flwr build) and compare it with its list of contents.

    C(flwr run) takes folders only; it packs these files again. Patterns by which they were chosen would match nothing and be refused, so these
    are left out of its C(pyproject.toml); the hash of the app is another one then.
    """
    try:
        with zipfile.ZipFile(bundle) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > SEND_LIMIT:
                raise FlowerError(f"the app {bundle} contains more than {SEND_LIMIT >> 20} MiB")
            content = {entry.filename: archive.read(entry) for entry in archive.infolist() if not entry.is_dir()}
    except (OSError, *_NO_ZIP, *foreign_data.FAULTS) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise FlowerError(f"the app {bundle} is not a Flower app bundle: {error}") from error
    listed = content.pop(".info/CONTENT", b"").decode("utf-8", "replace")
    for line in filter(None, listed.splitlines()):
        name, digest, _bits = [*line.rsplit(",", 2), "", ""][:3]
        if hashlib.sha256(content.get(name, b"")).hexdigest() != digest:
            raise FlowerError(f"the app {bundle} is damaged: {name} differs from its list of contents")
    for name in content:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise FlowerError(f"the app {bundle} contains a file with the path {name}")
    for key in ("fab-include", "fab-exclude") if PROJECT in content else ():
        with contextlib.suppress(*foreign_data.FAULTS):  # other text than TOML is reported later, and what cannot be cut out stays
            content[PROJECT] = app_checks.without_key(content[PROJECT].decode(), "tool", "flwr", "app", key).encode()
    return content


def read_project(where: Path, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Read an app's C(pyproject.toml) and check that it has what Flower needs."""
    if PROJECT not in files:
        raise FlowerError(f"{where.absolute()} is not a Flower app: it has no {PROJECT}")
    try:
        project = tomllib.loads(files[PROJECT].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FlowerError(f"the app {where.absolute()}: cannot read {PROJECT}: {error}") from error
    if app_checks.value_of(project, "tool", "flwr", "app", "components", "agentapp") is not None:
        raise FlowerError(f"{where.absolute()} is an AgentApp, which this collection does not run: its {PROJECT} has agentapp in [tool.flwr.app.components]")
    missing = [f"[{'.'.join(table)}] {name}" for *table, name in _NEEDED if not isinstance(app_checks.value_of(project, *table, name), str)]
    if missing:
        raise FlowerError(f"{where.absolute()} is not a Flower app: its {PROJECT} lacks {', '.join(missing)}")
    return project


def flatten(table: Mapping[str, Any], parent: str = "") -> dict[str, Any]:
    """Join the names of nested tables with dots, as Flower does."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{parent}.{key}" if parent else str(key)
        flat.update(flatten(value, name) if isinstance(value, Mapping) else {name: value})
    return flat


def _too_big(where: Path, sizes: Mapping[str, int], why: str, rules: str) -> FlowerError:
    return FlowerError(f"the app {where} is too large: {why}. Largest files: {_largest(sizes, 3)}. An app is code. {_DATA}, or exclude files with {rules}.")


def _largest(found: Mapping[str, int], most: int) -> str:
    """Names and sizes of the largest files, and how many others there are."""
    names = sorted(found, key=lambda name: (-found[name], name))
    listed = ", ".join(f"{name} {formats.readable(found[name])}" for name in names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed
