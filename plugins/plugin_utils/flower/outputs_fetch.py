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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..base.formats import counted, readable
from ..base.object_names import OUTPUTS_READER
from ..base.plain_data import digest
from ..kube.api_errors import Unreachable
from ..programs import outputs_program
from . import in_pod, outputs_table, run_sites
from .cli import FlowerCLI, FlowerError
from .outputs_list import MANIFEST, Contents, shown
from .outputs_reader import SILENCE, Reader
from .transfer import Attempts, Steady, sha256

_SECONDS = 24 * 3600  # of one connection
_END = 100  # bytes after the files: the line with which every program ends
#: Where Linux has the open files and folders of a process.
_DESCRIPTORS = Path("/proc/self/fd")
_SPARE = 1024 * 1024  # bytes that are left free on the control node, for names and folders
FORMAT = 1
_NAMED = 10  # files in a warning


class Fetched(NamedTuple):
    """What was done about the outputs of a run, or would be.

    Attributes:
        changed: whether they were not there before.
        words: that, for people.
        result: for the result of a module; empty in check mode.
        fact: for the audit trail; empty if nothing was changed.
        warnings: files that are not among them.
    """

    changed: bool
    words: str
    result: dict[str, Any] = {}
    fact: dict[str, Any] = {}
    warnings: Sequence[str] = ()


def fetch_outputs(
    cli: FlowerCLI, reader: Reader, run_id: str, run: Mapping[str, Any], directory: Path, say: Callable[[str], None], *, check: bool
) -> Fetched:
    """Fetch the outputs of a run to C(directory), in which it gets a folder of its own; with C(check) only look.

    Args:
        run: what Flower knows of it; empty if that is nothing.

    Raises:
        ClusterError: they could not be fetched.
    """
    if check:
        sizes = reader.contents(run_id).sizes
        is_new = not (directory / run_id).exists()
        verb = "would fetch" if is_new else "would compare"
        return Fetched(is_new, f"{verb} {counted(len(sizes), 'file')} of run {run_id}, {readable(sum(sizes.values()))}")
    facts = provenance(cli, run)
    about = {name: facts[name] for name in ("app", "fab_hash", "sites")}
    work = Fetching(reader, run_id, directory, say)
    work.fetch(facts)
    contents, path = work.contents, str(work.target)
    sums: dict[str, Any] = {"files": len(contents.files), "size": sum(contents.sizes.values()), "sha256": digest(work.listed)}
    result = {"run_id": run_id, "path": path, "changed": work.changed, **sums, "sites": about["sites"]}
    result |= {"left_out": contents.left_out, "connections": work.attempts}
    verb = "fetched" if work.changed else "were there already"
    words = f"outputs of run {run_id}: {counted(sums['files'], 'file')}, {readable(sums['size'])}, {verb}: {path}"
    fact = {"change": "fetched", "run": run_id, **about, **sums} if work.changed else {}
    return Fetched(work.changed, words, result, fact, left_out_warnings(run_id, contents, "fetched"))


def provenance(cli: FlowerCLI, run: Mapping[str, Any]) -> dict[str, Any]:
    """Where outputs are from. C(run): what Flower knows of their run."""
    return {
        "app": f"{run.get('app', '')} {run.get('version', '')}".strip(),
        "fab_hash": run.get("fab_hash", ""),
        "sites": run_sites.read(cli, run) if run else [],
        "status": run.get("status", outputs_table.UNKNOWN),
        "finished_at": run.get("finished_at", ""),
        "hub": cli.cluster.name,
        "namespace": cli.namespace,
    }


def manifest(run_id: str, facts: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    """What is kept beside outputs. C(facts): C(provenance)."""
    began = {"began": contents.began} if contents.began else {}
    return {"format": FORMAT, **facts, **began, "run_id": run_id, "files": contents.listed, "left_out": contents.left_out}


def left_out_warnings(run_id: str, contents: Contents, done: str) -> list[str]:
    """Files that are not among the outputs. C(done): fetched, or uploaded."""
    left_out = [f"{name} ({why})" for name, why in contents.left_out.items()]
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return [f"not {done} of the outputs of run {run_id}: {', '.join(left_out[:_NAMED])}{more}"] if left_out else []


class Fetching:
    """Fetches the files of one run to C(directory), in which it gets a folder of its own.

    Attributes:
        contents: its files, once they were listed.
        target: its folder.
        changed: whether something was fetched.
        attempts: connections that it took.
        received: bytes that came over the network.
    """

    def __init__(self, reader: Reader, run_id: str, directory: Path, say: Callable[[str], None]) -> None:
        self.reader, self.run_id, self.contents = reader, run_id, Contents()
        self.directory, self.target, self.folder = directory, directory / run_id, directory / f".{run_id}.part"
        self.files = self.folder / "files"
        self.changed = not os.path.lexists(self.target)
        self.received = self.attempts = self._total = 0
        self._done: set[str] = set()
        self._attempts = Attempts(reader, say, f"fetching the outputs of run {run_id}")
        self._steady = Steady(say, f"outputs of run {run_id}")
        self._parts: list[tuple[str, int]] = []  # path, and bytes that come, the next file last

    @property
    def listed(self) -> dict[str, dict[str, Any]]:
        """Path -> size and SHA-256."""
        return self.contents.listed

    def fetch(self, facts: Mapping[str, Any]) -> None:
        """Fetch everything, or find that it was fetched before. C(facts): what the manifest says of the run.

        Raises:
            ClusterError: it could not be completed. What was fetched is kept, and continued the next time.
        """
        self._try(self._list)
        if not self.changed:
            if why := self._difference():
                raise self._occupied(why)
            return
        with self._staging():
            self._remove_stale()
            self._try(self._transfer)
            self._finish(manifest(self.run_id, facts, self.contents))

    def _try(self, step: Callable[[], bool]) -> None:
        """Take a step, in several connections if one breaks.

        Raises:
            FlowerError: it could not be completed.
        """
        if why := self._attempts.run(step):
            raise FlowerError(
                f"the outputs of run {self.run_id} could not be fetched completely: {why} {len(self._done)} of {len(self.contents.files)} files are "
                f"there, and what was fetched is in {self.folder}: run this again to continue, or delete that folder"
            )

    def _list(self) -> bool:
        """List the files, and have the hub compute the SHA-256 of all that the disk has room for.

        Raises:
            FlowerError: it has no room for the rest, or they are being changed.
        """
        with self._faults("see what was fetched before"):
            place = self.files if self.changed else self.target
            there = sum(os.lstat(place / path).st_size for path in _files_below(place))
            seen = os.statvfs(next(one for one in (self.directory, *self.directory.parents) if one.exists()))
        free = seen.f_bavail * seen.f_frsize
        self.contents = self.reader.contents(self.run_id, there + free, lambda: self._steady("the hub computes SHA-256, since {since}"))
        self._total = sum(self.contents.sizes.values())
        if self.changed and self._total - there + _SPARE > free:
            raise FlowerError(
                f"the control node's disk has too little free space for these outputs: {readable(self._total - there)} are to be fetched, "
                f"{readable(free)} are free in {self.directory}. Free space, or choose another directory"
            )
        if self.changed and (gone := [path for path, one in self.contents.files.items() if not outputs_program.NAME.fullmatch(one.sha256)]):
            raise self._being_changed(f"{shown(gone[0])}: it cannot be read")
        return True

    def _difference(self) -> str:
        """Why what has the run's name is not what the outputs are; empty if it is."""
        sizes = self.contents.sizes
        with self._faults("read what was fetched before"):
            if self.target.is_symlink() or not self.target.is_dir():
                return "it is not a folder"
            there = _files_below(self.target)
            if MANIFEST not in there or (self.target / MANIFEST).is_symlink():
                return f"it has no {MANIFEST}, so it was created by something else"
            for path in sorted({*there, *sizes} - {MANIFEST}):
                if path not in there:
                    return f"{shown(path)} is missing in it"
                if path not in sizes:
                    return f"it has {shown(path)}, which is not among the outputs"
                if os.lstat(self.target / path).st_size != sizes[path]:
                    return f"{shown(path)} has another size"
            other = (path for path, one in self.contents.files.items() if sha256(self.target / path) != one.sha256)
            return next((f"{shown(path)} has other content" for path in other), "")

    def _being_changed(self, what: str) -> FlowerError:
        return FlowerError(
            f"outputs of run {self.run_id} changed since they were listed: {what}. Something is still writing to these outputs; fetch them "
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
                    raise FlowerError(f"{self.folder} {why}, so files could be written to another location: delete that folder, or choose another directory")
                if _DESCRIPTORS.is_dir():  # Linux: then it stays this very folder, also when someone renames it
                    self.files = _DESCRIPTORS / str(folder) / "files"
                self.files.mkdir(exist_ok=True)
            yield
        finally:
            self.files = self.folder / "files"
            os.close(folder)

    def _remove_stale(self) -> None:
        """Remove what an earlier attempt has left and is not among the outputs."""
        with self._faults("see what was fetched before"):
            for path in _files_below(self.files):
                if os.lstat(self.files / path).st_size > self.contents.sizes.get(path, -1):
                    (self.files / path).unlink()
            for folder, _folders, _names in os.walk(self.files, topdown=False):
                if not os.listdir(folder) and folder != str(self.files):
                    os.rmdir(folder)

    def _transfer(self) -> bool:
        """Read what is missing; whether every file is complete then."""
        if left := self._incomplete():
            self._attempts.left = sum(self.contents.files[path].size - offset for path, offset in left.items())
            self._read(left)
            left = self._incomplete()
        return not left

    def _incomplete(self) -> dict[str, int]:
        """How many bytes of each file are there, without those that are complete. One that has its size and another content is read again."""
        left = {}
        for path, wanted in self.contents.files.items():
            if path in self._done:
                continue
            place = self.files / path
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
        wanted = {path: self.contents.files[path] for path in offsets}
        self._parts = [(path, one.size - offsets[path]) for path, one in wanted.items() if one.size > offsets[path]][::-1]
        files = [(path, offsets[path], one.size, one.mtime) for path, one in wanted.items()]
        cluster, namespace, pod = self.reader.cluster, self.reader.namespace, self.reader.pod()
        request = {"do": "read", "run": self.run_id, "files": files}
        rc, errors = in_pod.send(
            cluster, namespace, pod, OUTPUTS_READER, outputs_program, request, self._append, seconds=_SECONDS, silence=SILENCE
        )
        if rc == outputs_program.CHANGED:
            raise self._being_changed(errors)
        if rc:
            raise Unreachable(f"{cluster.name}: the program that reads outputs in pod {namespace}/{pod} ended with code {rc}: {errors}.")

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
            if missing := {*self.contents.files} - _files_below(self.files):
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
                raise self._occupied("it was created while they were fetched")
            os.rename(self.files, self.target)
            _sync(self.directory)
            shutil.rmtree(self.folder)

    def _occupied(self, why: str) -> FlowerError:
        return FlowerError(
            f"{self.target} exists and differs from the current outputs: {why}. Nothing in it was changed. Move it, or choose another "
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
                    "free space and run this again to continue, or delete that folder"
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
