# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inputs of a run on the control node: a file, or the files of a folder, with a name that follows from their content."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base.digests import digest
from ..programs.outputs_program import INPUTS, LONGEST, MOST
from .cli import FlowerError
from .outputs_reader import shown, unfit
from .transfer import Steady, sha256

_HIDDEN = re.compile(r"(?:[^./][^/]*/)*\.[^/]*")
_NAMED = 5  # hidden files in a message


@dataclass(frozen=True)
class LocalFile:
    """A file.

    Attributes:
        path: on the control node.
        size: bytes.
        mtime: time of the last change, nanoseconds since 1970.
        sha256: of its content.
    """

    path: Path
    size: int
    mtime: int
    sha256: str


@dataclass(frozen=True)
class Inputs:
    """What a run is handed.

    Attributes:
        given: what the user named.
        files: path within the inputs -> file.
    """

    given: Path
    files: dict[str, LocalFile]

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

    Args:
        path: what the user named.
        say: shows the progress.

    Raises:
        FlowerError: there is none, or one that cannot be sent.
    """
    given = Path(path).expanduser().absolute()
    steady = Steady(say, f"inputs {given}")

    def heard() -> None:
        steady("their SHA-256 are computed, since {since}")

    try:
        if given.is_file():
            return Inputs(given, {given.name: _local(given, given.name, heard)})
        if not given.is_dir():
            what = "is neither a file nor a folder" if given.exists() else "does not exist"
            raise FlowerError(f"inputs: {given} {what}")
        names = sorted(_names(given))
        _refuse_hidden(given, names)
        files = {name: _local(given / name, name, heard) for name in names}
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {error.filename or given}: {error.strerror}") from error
    if not files:
        raise FlowerError(f"inputs: the folder {given} has no files")
    return Inputs(given, files)


def _names(folder: Path) -> Iterator[str]:
    count = length = 0
    for inside, folders, names in os.walk(folder, onerror=_raised):
        for name in folders:
            if os.path.islink(os.path.join(inside, name)):
                raise FlowerError(
                    f"inputs: {Path(inside, name)} is a symbolic link to a folder; replace it with the folder"
                )
        for name in [*folders, *names]:  # the hub counts both
            count, length = count + 1, length + len(os.path.relpath(os.path.join(inside, name), folder))
            if count > MOST or length > LONGEST:
                limit = (
                    f"{MOST} files and folders" if count > MOST else f"{LONGEST} characters in the names of all files"
                )
                raise FlowerError(f"inputs: {folder} has more than {limit}; pack them into one")
        yield from (os.path.relpath(os.path.join(inside, name), folder) for name in names)


def _refuse_hidden(folder: Path, names: Iterable[str]) -> None:
    """Refuse what is in a folder without being seen, such as C(.git) or C(.env): all apps of the federation can read inputs.

    Raises:
        FlowerError: there is something, with the first of it.
    """
    hidden = list(dict.fromkeys(found[0] for name in names if (found := _HIDDEN.match(name))))
    if hidden:
        more = f" and {len(hidden) - _NAMED} more" if len(hidden) > _NAMED else ""
        raise FlowerError(
            f"inputs: {folder} has hidden files or folders, which apps of all users of the federation could read: "
            f"{', '.join(map(shown, hidden[:_NAMED]))}{more}. Remove them, or name a folder without them"
        )


def _raised(error: OSError) -> None:
    raise error


def _local(path: Path, name: str, heard: Callable[[], None]) -> LocalFile:
    """Links to files are followed: their content is what an app gets."""
    if why := unfit(name):
        raise FlowerError(f"inputs: {shown(str(path))} cannot be sent: {why}")
    seen = path.stat()
    if not stat.S_ISREG(seen.st_mode):
        raise FlowerError(f"inputs: {path} is not a regular file")
    return LocalFile(path, seen.st_size, seen.st_mtime_ns, sha256(path, heard))
