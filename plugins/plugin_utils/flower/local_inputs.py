# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inputs of a run on the control node: a file, or the files of a folder, with a name that follows from their content."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..base.plain_data import digest
from ..programs.outputs_program import INPUTS, LONGEST, MOST
from .cli import FlowerError
from .outputs_list import File, shown, unfit
from .transfer import Steady, sha256

_NAMED = 5  # hidden files in a message


@dataclass(frozen=True)
class Inputs:
    """Files of the control node that a run begins with.

    Attributes:
        given: what the user named.
        files: path within C(folder) -> file.
    """

    given: Path
    files: dict[str, File]

    @property
    def folder(self) -> Path:
        """The folder with the files."""
        return self.given if self.given.is_dir() else self.given.parent

    @property
    def name(self) -> str:
        """SHA-256 of the list of the files: other content has another name."""
        return digest({path: {"size": one.size, "sha256": one.sha256} for path, one in self.files.items()})

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.files.values())

    @property
    def place(self) -> str:
        """Where apps find what the user named, a file or a folder, below C(FLOWER_OUTPUTS_DIR)."""
        folder = f"{INPUTS}/{self.name}"
        return folder if self.given.is_dir() else f"{folder}/{next(iter(self.files))}"


def load(path: str, say: Callable[[str], None] = lambda _text: None) -> Inputs:
    """Read the names and hashes of a file, or of all files in a folder.

    Raises:
        FlowerError: there is none, or one that cannot be sent.
    """
    given = Path(path).expanduser().absolute()
    steady = Steady(say, f"inputs {given}")
    try:
        if not given.is_file() and not given.is_dir():
            raise FlowerError(f"inputs: {given} {'is neither a file nor a folder' if given.exists() else 'does not exist'}")
        folder, names = (given.parent, [given.name]) if given.is_file() else (given, _names(given))
        files = {}
        for name in names:
            if why := unfit(name):
                raise FlowerError(f"inputs: {shown(str(folder / name))} cannot be sent: {why}")
            seen = (folder / name).stat()  # of what a link leads to: its content is what an app gets
            if not stat.S_ISREG(seen.st_mode):
                raise FlowerError(f"inputs: {folder / name} is not a regular file")
            checksum = sha256(folder / name, lambda: steady("their SHA-256 are computed, since {since}"))
            files[name] = File(seen.st_size, seen.st_mtime_ns, checksum)
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {error.filename or given}: {error.strerror}") from error
    if not files:
        raise FlowerError(f"inputs: the folder {given} has no files")
    return Inputs(given, files)


def _names(folder: Path) -> list[str]:
    """Paths of the files in a folder. All apps of the federation can read inputs, so nothing hidden, such as C(.git) or C(.env), goes with them.

    Raises:
        FlowerError: it has hidden files, a link to a folder, or more than the hub lists.
    """

    def refuse(error: OSError) -> None:
        raise error

    files: list[str] = []
    entries, length, hidden = 0, 0, []
    for inside, folders, names in os.walk(folder, onerror=refuse):
        for name in [*folders, *names]:
            path = os.path.relpath(os.path.join(inside, name), folder)
            entries, length = entries + 1, length + len(path)  # the hub counts both
            if name.startswith("."):
                hidden.append(path)
            elif name in folders and os.path.islink(folder / path):
                raise FlowerError(f"inputs: {folder / path} is a symbolic link to a folder; replace it with the folder")
            elif name not in folders:
                files.append(path)
        folders[:] = [name for name in folders if not name.startswith(".")]
        if entries > MOST or length > LONGEST:
            raise FlowerError(f"inputs: {folder} has more than {MOST} files and folders, or {LONGEST} characters in their names; pack them into one")
    if hidden:
        more = f" and {len(hidden) - _NAMED} more" if len(hidden) > _NAMED else ""
        raise FlowerError(
            f"inputs: {folder} has hidden files or folders, which apps of all users of the federation could read: "
            f"{', '.join(map(shown, sorted(hidden)[:_NAMED]))}{more}. Remove them, or name a folder without them"
        )
    return sorted(files)


def read_part(path: Path, file: File, offset: int, size: int) -> bytes:
    """A part of a file.

    Raises:
        FlowerError: it is not what it was when its SHA-256 was computed.
    """
    try:
        with open(path, "rb") as stream:
            stream.seek(offset)
            found = stream.read(size)
            seen = os.fstat(stream.fileno())
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {path}: {error.strerror}") from error
    if (seen.st_size, seen.st_mtime_ns) != (file.size, file.mtime) or len(found) < size:
        raise FlowerError(f"nothing was submitted, because {path} is changed while it is sent; submit the run when nothing writes to it any more")
    return found
