# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders on the control node for the outputs of one run.

In the user's folder DIR, the run ID has C(DIR/ID) when, and only when, all of it is there and was verified. Until then everything is in
C(DIR/.ID.part): C(files) holds files that were verified, C(partial) beginnings of others, by the hash of their path. The whole of
C(files) gets its final name by one rename, after everything in it was written to the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..base.sizes import readable
from .cli import FlowerError
from .outputs_reader import MANIFEST, shown

_CHUNK = 1024 * 1024
#: Where Linux has the open files and folders of a process.
_DESCRIPTORS = Path("/proc/self/fd")
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: Room that is left free on the control node, for names and folders.
_SPARE = 1024 * 1024


class Staging:
    """See above.

    Args:
        directory: the user's folder.
        run_id: the run.
    """

    def __init__(self, directory: Path, run_id: str) -> None:
        self.directory = directory
        self.target = directory / run_id
        self.folder = directory / f".{run_id}.part"
        self._place(self.folder)

    def _place(self, folder: Path) -> None:
        self.files = folder / "files"
        self.partial = folder / "partial"

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Make the folders, for this process alone.

        Raises:
            FlowerError: another process has them, they cannot be made, or someone else could have put something there.
        """
        with self.faults("make folders"):
            self.directory.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FlowerError(
                    f"another process is fetching the outputs of this run into {self.folder}; wait until it ends"
                ) from None
            with self.faults("make folders"):
                self._refuse_others(lock)
                if _DESCRIPTORS.is_dir():  # Linux: then it stays this very folder, also when someone renames it
                    self._place(_DESCRIPTORS / str(lock))
                for one in (self.files, self.partial):
                    one.mkdir(exist_ok=True)
            yield
        finally:
            self._place(self.folder)
            os.close(lock)

    def _refuse_others(self, folder: int) -> None:
        """Refuse a folder in which someone else could put links, and links that are in it.

        Raises:
            FlowerError: it is to be deleted.
        """
        facts = os.fstat(folder)
        why = "belongs to another user" if facts.st_uid != os.geteuid() else "can be written to by other users" if facts.st_mode & 0o022 else ""
        for inside, folders, names, at in os.fwalk(".", dir_fd=folder) if not why else ():
            for one in (*folders, *names):
                if stat.S_ISLNK(os.stat(one, dir_fd=at, follow_symlinks=False).st_mode):
                    why = f"has a symbolic link, {shown(os.path.normpath(os.path.join(inside, one)))}"
        if why:
            raise FlowerError(f"{self.folder} {why}, so what is fetched could go elsewhere: delete that folder, or choose another directory")

    @contextlib.contextmanager
    def faults(self, doing: str) -> Iterator[None]:
        """Errors of the control node's file system, in words.

        Raises:
            FlowerError: instead of them.
        """
        try:
            yield
        except OSError as error:
            where = f" ({error.filename})" if error.filename and not str(error.filename).startswith(str(_DESCRIPTORS)) else ""
            if error.errno in _FULL:
                raise FlowerError(
                    f"the disk of the control node is full: cannot {doing} in {self.directory}. What was fetched so far is in {self.folder}: "
                    "make room and run this again to continue, or delete that folder"
                ) from error
            raise FlowerError(f"cannot {doing} in {self.directory}: {error.strerror or error}{where}") from error

    def refuse_too_little_room(self, wanted: Mapping[str, int]) -> None:
        """Refuse to begin what the disk has no room for.

        Raises:
            FlowerError: with the number of bytes that are missing.
        """
        with self.faults("see how much room there is"):
            staged = {name: self.staged(name) for name in wanted}
            there = sum(min(path.stat().st_size, wanted[name]) for name, path in staged.items() if path is not None)
            seen = os.statvfs(self.directory)
        need, free = sum(wanted.values()) - there, seen.f_bavail * seen.f_frsize
        if need + _SPARE > free:
            raise FlowerError(
                f"the disk of the control node has too little room for these outputs: {readable(need)} are to be fetched, {readable(free)} are "
                f"free in {self.directory}. Make room, or choose another directory"
            )

    def partial_of(self, path: str) -> Path:
        """Where the beginning of a file is."""
        return self.partial / hashlib.sha256(path.encode()).hexdigest()

    def staged(self, path: str) -> Path | None:
        """Where a file is, or its beginning; None if there is nothing of it."""
        return next((one for one in (self.files / path, self.partial_of(path)) if _is_file(one)), None)

    def begin(self, path: str, start: int) -> int:
        """Open the partial file of a path, cut to its first bytes; a file that was complete before becomes partial again."""
        whole, partial = self.files / path, self.partial_of(path)
        with self.faults(f"write {shown(path)}"):
            if _is_file(whole):
                os.replace(whole, partial)
            file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            try:
                os.ftruncate(file, start)
                os.lseek(file, start, os.SEEK_SET)
            except OSError:
                os.close(file)
                raise
        return file

    def complete(self, path: str, file: int) -> None:
        """Give a file that was verified its name, once it is on the disk; closes it."""
        whole = self.files / path
        with self.faults(f"write {shown(path)}"):
            try:
                os.fsync(file)
            finally:
                os.close(file)
            whole.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(whole):
                raise FlowerError(
                    f"two files of the run have the same name {shown(path)} on the control node's file system; choose another directory"
                )
            os.rename(self.partial_of(path), whole)

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Give the folder its final name. Only after this it looks like outputs.

        Raises:
            FlowerError: something else has this name meanwhile, or the disk is full.
        """
        with self.faults("finish the outputs"):
            for name in sorted(_files_below(self.files) - set(manifest["files"])):
                (self.files / name).unlink()  # of an earlier attempt, and not among the outputs any more
            for folder, _folders, _names in os.walk(self.files, topdown=False):
                if not os.listdir(folder) and folder != str(self.files):
                    os.rmdir(folder)
            text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
            file = os.open(self.files / MANIFEST, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
            with os.fdopen(file, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            for folder, _folders, _names in os.walk(self.files, topdown=False):
                _sync(folder)
            if os.path.lexists(self.target):
                raise self.occupied("it appeared while they were fetched")
            try:
                os.rename(self.files, self.target)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise self.occupied("it appeared while they were fetched") from error
                raise
            _sync(self.directory)
            shutil.rmtree(self.folder)

    def occupied(self, why: str) -> FlowerError:
        """The error that something else has the final name."""
        return FlowerError(
            f"{self.target} exists and is not what the outputs are now: {why}. Nothing in it was changed. Move it away, or choose another "
            "directory"
        )

    def fetched_before(self) -> dict[str, int] | None:
        """Files of the run that were fetched completely before (path -> bytes); None if its folder does not exist.

        Raises:
            FlowerError: what has its name was not fetched by this collection.
        """
        with self.faults("look at what was fetched before"):
            if not os.path.lexists(self.target):
                return None
            if self.target.is_symlink() or not self.target.is_dir():
                raise self.occupied("it is not a folder")
            if not _is_file(self.target / MANIFEST):
                raise self.occupied(f"it has no {MANIFEST}, so it was created by something else")
            names = _files_below(self.target) - {MANIFEST}
            return {name: (self.target / name).stat().st_size for name in names}


def _sync(folder: str | Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _files_below(folder: Path) -> set[str]:
    """Paths of everything below a folder, without folders. Links are not followed."""
    return {
        os.path.relpath(os.path.join(inside, name), folder)
        for inside, folders, names in os.walk(folder)
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(inside, one)))]
    }


def summed(path: Path, heard: Callable[[int], None] | None = None) -> tuple[int, Any]:
    """Bytes and SHA-256 of a file, the latter to be continued. C(heard) gets how many bytes were read each time."""
    found = hashlib.sha256()
    size = 0
    with open(path, "rb") as stream:
        while data := stream.read(_CHUNK):
            found.update(data)
            size += len(data)
            if heard is not None:
                heard(len(data))
    return size, found
