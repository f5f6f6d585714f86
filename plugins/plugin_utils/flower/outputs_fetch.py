# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch the outputs of a run: each file is read from the offset up to which it is there, and then compared with its SHA-256 on the hub.

In the user's folder DIR, the run ID has C(DIR/ID) when, and only when, all of it is there and was compared. Until then everything is in
C(DIR/.ID.part/files), which gets that name by one rename after everything in it was written to the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..base import foreign_data
from ..base.formats import readable
from ..base.object_names import OUTPUTS_READER
from ..kube.api_errors import Unreachable
from ..programs import outputs_program
from . import in_pod
from .cli import FlowerError
from .outputs_list import MANIFEST, Contents, File, shown
from .outputs_reader import SILENCE, Reader
from .transfer import Attempts, Steady, sha256

_SECONDS = 24 * 3600  # of one connection
_END = 100  # bytes after the files: the line with which every program ends
#: Where Linux has the open files and folders of a process.
_DESCRIPTORS = Path("/proc/self/fd")
_SPARE = 1024 * 1024  # bytes that are left free on the control node, for names and folders
FORMAT = 1


class Fetched(NamedTuple):
    """What was fetched.

    Attributes:
        path: the run's folder on the control node.
        changed: whether something was fetched.
        files: path -> {size, sha256}.
        attempts: connections that it took.
        received: bytes that came over the network.
    """

    path: str
    changed: bool
    files: dict[str, dict[str, Any]]
    attempts: int
    received: int


class Fetching:
    """Fetches the files of one run to C(directory), in which it gets a folder of its own."""

    def __init__(self, reader: Reader, run_id: str, contents: Contents, directory: Path, say: Callable[[str], None]) -> None:
        self.reader, self.run_id = reader, run_id
        self.sizes, self.left_out = contents.sizes, contents.left_out
        self.directory, self.target, self.folder = directory, directory / run_id, directory / f".{run_id}.part"
        self.files = self.folder / "files"
        self.received = self.attempts = 0
        self._wanted: dict[str, File] = {}
        self._done: set[str] = set()
        self._attempts = Attempts(reader, say, f"fetching the outputs of run {run_id}")
        self._steady = Steady(say, f"outputs of run {run_id}")
        self._total = sum(self.sizes.values())
        self._parts: list[tuple[str, int]] = []  # path, and bytes that come, the next file last

    def fetch(self, facts: Mapping[str, Any]) -> Fetched:
        """Fetch everything, or find that it was fetched before. C(facts): what the manifest says of the run.

        Raises:
            ClusterError: it could not be completed. What was fetched is kept, and continued the next time.
        """
        run_id, changed = self.run_id, not os.path.lexists(self.target)
        if not changed and (why := self._difference()):
            raise self._occupied(why)
        if changed:
            with self._staging():
                self._prepare()
                if why := self._attempts.run(self._transfer):
                    raise FlowerError(
                        f"the outputs of run {run_id} could not be fetched completely: {why} {len(self._done)} of {len(self.sizes)} files are "
                        f"there, and what was fetched is in {self.folder}: run this again to continue, or delete that folder"
                    )
                self._finish({"format": FORMAT, **facts, "run_id": run_id, "files": self._listed(), "left_out": self.left_out})
        return Fetched(str(self.target), changed, self._listed(), self.attempts, self.received)

    def _listed(self) -> dict[str, dict[str, Any]]:
        return {path: {"size": one.size, "sha256": one.sha256} for path, one in sorted(self._wanted.items())}

    def _difference(self) -> str:
        """Why what has the run's name is not what the outputs are; empty if it is."""
        with self._faults("read what was fetched before"):
            if self.target.is_symlink() or not self.target.is_dir():
                return "it is not a folder"
            there = _files_below(self.target)
            if MANIFEST not in there or (self.target / MANIFEST).is_symlink():
                return f"it has no {MANIFEST}, so it was created by something else"
            for path in sorted({*there, *self.sizes} - {MANIFEST}):
                if path not in there:
                    return f"{shown(path)} is missing in it"
                if path not in self.sizes:
                    return f"it has {shown(path)}, which is not among the outputs"
                if os.lstat(self.target / path).st_size != self.sizes[path]:
                    return f"{shown(path)} has another size"
            self._read_hashes()
            other = (path for path, one in self._wanted.items() if sha256(self.target / path) != one.sha256)
            return next((f"{shown(path)} has other content" for path in other), "")

    def _read_hashes(self) -> None:
        """Have the hub compute the SHA-256 of each file.

        Raises:
            FlowerError: they are not what was listed.
        """
        found = self.reader.contents(self.run_id, self._total, lambda: self._steady("the hub computes SHA-256, since {since}"))
        for path in sorted({*self.sizes, *found.files}):
            one = found.files.get(path)
            if one is None or one.size != self.sizes.get(path) or not outputs_program.NAME.fullmatch(one.sha256):
                raise self._changed(f"{shown(path)}: {'its size has changed' if one else 'No such file or directory'}")
        self._wanted = found.files

    def _changed(self, what: str) -> FlowerError:
        return FlowerError(
            f"outputs of run {self.run_id} are not what was listed a moment ago: {what}. Something is still writing to these outputs; fetch them "
            "again when it is done"
        )

    @contextlib.contextmanager
    def _staging(self) -> Iterator[None]:
        """The folder for files that are not complete, for this process alone.

        Raises:
            FlowerError: another process has it, it cannot be made, or someone else could have put something there.
        """
        with self._faults("make folders"):
            self.directory.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            with self._faults("make folders"):
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise FlowerError(f"another process is fetching the outputs of this run into {self.folder}; wait until it ends") from None
                facts = os.fstat(folder)
                why = "belongs to another user" if facts.st_uid != os.geteuid() else "can be written to by other users" if facts.st_mode & 0o022 else ""
                for inside, folders, names, at in os.fwalk(".", dir_fd=folder) if not why else ():
                    for one in (*folders, *names):
                        if stat.S_ISLNK(os.stat(one, dir_fd=at, follow_symlinks=False).st_mode):
                            why = f"has a symbolic link, {shown(os.path.normpath(os.path.join(inside, one)))}"
                if why:
                    raise FlowerError(f"{self.folder} {why}, so what is fetched could go elsewhere: delete that folder, or choose another directory")
                if _DESCRIPTORS.is_dir():  # Linux: then it stays this very folder, also when someone renames it
                    self.files = _DESCRIPTORS / str(folder) / "files"
                self.files.mkdir(exist_ok=True)
            yield
        finally:
            self.files = self.folder / "files"
            os.close(folder)

    def _prepare(self) -> None:
        """Remove what an earlier attempt has left and is not among the outputs.

        Raises:
            FlowerError: the disk has no room for the rest.
        """
        with self._faults("see what was fetched before"):
            there = {path: os.lstat(self.files / path).st_size for path in _files_below(self.files)}
            for path in [path for path, size in there.items() if size > self.sizes.get(path, -1)]:
                (self.files / path).unlink()
                del there[path]
            for folder, _folders, _names in os.walk(self.files, topdown=False):
                if not os.listdir(folder) and folder != str(self.files):
                    os.rmdir(folder)
            seen = os.statvfs(self.directory)
        need, free = self._total - sum(there.values()), seen.f_bavail * seen.f_frsize
        if need + _SPARE > free:
            raise FlowerError(
                f"the disk of the control node has too little room for these outputs: {readable(need)} are to be fetched, {readable(free)} are "
                f"free in {self.directory}. Make room, or choose another directory"
            )

    def _transfer(self) -> bool:
        """Read what is missing; whether every file is complete then."""
        if not self._wanted:
            self._read_hashes()
        if left := self._incomplete():
            self._attempts.left = sum(self.sizes[path] - offset for path, offset in left.items())
            self._read(left)
            left = self._incomplete()
        return not left

    def _incomplete(self) -> dict[str, int]:
        """How many bytes of each file are there, without those that are complete. One that has its size and another content is read again."""
        left = {}
        for path in [path for path in self._wanted if path not in self._done]:
            place, wanted = self.files / path, self._wanted[path]
            with self._faults(f"write {shown(path)}"):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
                size = place.stat().st_size
                if size < wanted.size:
                    left[path] = size
                elif sha256(place, sync=True) == wanted.sha256:
                    self._done.add(path)
                else:
                    os.truncate(place, 0)
                    left[path] = 0
        return left

    def _read(self, offsets: Mapping[str, int]) -> None:
        """Read the rest of files in one connection.

        Raises:
            ClusterError: a file is not what was listed, the connection ended before everything was received, or the disk is full.
        """
        self.attempts += 1
        self._parts = [(path, self.sizes[path] - offset) for path, offset in offsets.items() if self.sizes[path] > offset][::-1]
        files = [(path, offset, self._wanted[path].size, self._wanted[path].mtime) for path, offset in offsets.items()]
        cluster, namespace, pod = self.reader.cluster, self.reader.namespace, self.reader.pod()
        stdin = in_pod.stdin_of(outputs_program, {"do": "read", "run": self.run_id, "files": files})
        command = ["python", "-c", in_pod.LOADER]
        result = cluster.exec(namespace, pod, OUTPUTS_READER, command, stdin=stdin, timeout=_SECONDS, on_stdout=self._append, silence=SILENCE)
        if result.rc:
            words = foreign_data.cleaned(result.stderr.decode("utf-8", "replace")[-500:]) or "no error output"
            if result.rc == outputs_program.CHANGED:
                raise self._changed(words)
            raise Unreachable(f"{cluster.name}: the program that reads outputs in pod {namespace}/{pod} ended with code {result.rc}: {words}.")

    def _append(self, data: bytes) -> None:
        """Append to the files whose rest is read, one after the other.

        Raises:
            Unreachable: there are more bytes than files.
            FlowerError: the disk is full.
        """
        rest = memoryview(data)
        while rest and self._parts:
            path, left = self._parts.pop()
            with self._faults(f"write {shown(path)}"), open(self.files / path, "ab", buffering=0) as file:
                count = file.write(rest[:left])
            if left > count:
                self._parts.append((path, left - count))
            rest = rest[count:]
            self.received += count
        if len(rest) > _END:
            raise Unreachable(f"{self.reader.cluster.name}: the program that reads outputs sent more than was requested.")
        there = self._total - sum(left for _path, left in self._parts)
        self._steady(f"{readable(there)} of {readable(self._total)} are there, {readable(self.received)} received")

    def _finish(self, manifest: Mapping[str, Any]) -> None:
        """Give the folder its final name. Only after this it looks like outputs.

        Raises:
            FlowerError: something else has this name meanwhile, or the disk is full.
        """
        with self._faults("finish the outputs"):
            if missing := {*self.sizes} - _files_below(self.files):
                raise FlowerError(
                    f"two files of the run have the same name {shown(min(missing))} on the control node's file system; choose another directory"
                )
            with open(self.files / MANIFEST, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            for folder, _folders, _names in os.walk(self.files, topdown=False):
                _sync(folder)
            if os.path.lexists(self.target):
                raise self._occupied("it appeared while they were fetched")
            os.rename(self.files, self.target)
            _sync(self.directory)
            shutil.rmtree(self.folder)

    def _occupied(self, why: str) -> FlowerError:
        return FlowerError(
            f"{self.target} exists and is not what the outputs are now: {why}. Nothing in it was changed. Move it away, or choose another "
            "directory"
        )

    @contextlib.contextmanager
    def _faults(self, doing: str) -> Iterator[None]:
        """Errors of the control node's file system, in words.

        Raises:
            FlowerError: instead of them.
        """
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise FlowerError(
                    f"the disk of the control node is full: cannot {doing} in {self.directory}. What was fetched so far is in {self.folder}: "
                    "make room and run this again to continue, or delete that folder"
                ) from error
            where = f" ({error.filename})" if error.filename and not str(error.filename).startswith(str(_DESCRIPTORS)) else ""
            raise FlowerError(f"cannot {doing} in {self.directory}: {error.strerror or error}{where}") from error


def _sync(folder: str | Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _files_below(folder: Path) -> set[str]:
    """Paths of everything below a folder, without folders. Links are not followed."""
    return {
        os.path.relpath(os.path.join(inside, name), folder)
        for inside, folders, names in os.walk(folder)
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(inside, one)))]
    }
