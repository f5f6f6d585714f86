# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the reader of outputs: lists, sends and deletes what ServerApps made, and takes inputs for them.

The control node sends this file's text and a request as two lines of JSON on standard input. Apps wrote what is read here, and may
still write: no link is followed, nothing but regular files is opened, and nothing is executed.

Inputs are below the folder C(inputs), in one of their own that is named after the SHA-256 of the list of their files. Until all of it is
there and was verified, the folder is C(.SHA256.part). The content follows the name, so two senders of the same inputs write the same.

Answers are lines of JSON, except those of C(send): frames of one byte (C(J) for JSON, C(D) for data), four bytes with the length of what
follows (big-endian), and so many bytes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import signal
import stat
import struct
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

RUN = re.compile(r"[0-9]{1,20}")
INPUTS = "inputs"
NAME = re.compile(r"[0-9a-f]{64}")
CHUNK = 256 * 1024
#: Folders within folders, and files of one run.
DEEPEST, MOST = 32, 100_000
#: Characters of all paths of one run: the control node has them in memory.
LONGEST = 16 * 2**20
_BATCH = 500  # files in a line of the answer
_UNREAD = 60  # seconds that a frame may wait to be read
_ALIVE = 2.0  # seconds between signs of life
_TRASH = ".deleted-"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_EVER = float("inf")  # later than every time
_RACES = 3  # times that others finish or delete the inputs that are being finished
_LEVELS = 100_000  # of folders within folders that are deleted
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a named pipe would wait without a limit.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}  # fmt: skip


def room(root: int) -> dict[str, Any]:
    """Bytes of the volume, those that are free, and the floor that its owners set."""
    seen = os.fstatvfs(root)
    return {
        "size": seen.f_blocks * seen.f_frsize,
        "free": seen.f_bavail * seen.f_frsize,
        "floor": os.environ.get("FLOWER_OUTPUTS_MIN_FREE", "0"),
    }


class Pulse:
    """Signs of life on standard output, between answers: empty lines, which are passed over. Without them the connection counts as lost."""

    def __init__(self) -> None:
        self.spoken = time.monotonic()

    def beat(self) -> None:
        """Give a sign if there was none for a while."""
        if time.monotonic() >= self.spoken + _ALIVE:
            self.spoken = time.monotonic()
            print(flush=True)


_pulse = Pulse()


def runs(root: int) -> list[str]:
    """Ids of the runs that have a folder."""
    with os.scandir(root) as entries:
        found = [entry.name for entry in entries if RUN.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    return sorted(found, key=int)


def walk(root: int, run: str) -> Iterator[tuple[str, os.stat_result | None, str]]:
    """Every file below the folder of a run: its path, and either its state or why it cannot be taken."""
    top = os.open(run, _FOLDER, dir_fd=root)
    open_folders = [(top, "", iter(_names(top)))]
    count = length = 0
    try:
        while open_folders:
            folder, prefix, names = open_folders[-1]
            name = next(names, None)
            if name is None:
                os.close(open_folders.pop()[0])
                continue
            path = prefix + name
            count, length = count + 1, length + len(path)
            _pulse.beat()
            if count > MOST or length > LONGEST:
                limit = (
                    f"{MOST} files and folders" if count > MOST else f"{LONGEST} characters in the names of all files"
                )
                yield path, None, f"there are more than {limit}"
                return
            try:
                seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(seen.st_mode) and os.access(name, os.R_OK, dir_fd=folder):
                    yield path, seen, ""
                elif stat.S_ISREG(seen.st_mode):
                    yield path, None, "it may not be read"
                elif not stat.S_ISDIR(seen.st_mode):
                    yield path, None, f"it is {_KINDS.get(stat.S_IFMT(seen.st_mode), 'not a regular file')}"
                elif len(open_folders) >= DEEPEST:
                    yield path, None, f"it is a folder within {DEEPEST} others"
                else:
                    inner = os.open(name, _FOLDER, dir_fd=folder)
                    open_folders.append((inner, path + "/", iter(_names(inner))))
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                yield path, None, f"it cannot be read: {error.strerror}"
    finally:
        for folder, _prefix, _names_left in open_folders:
            os.close(folder)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        names = []
        for entry in entries:
            names.append(entry.name)
            if len(names) > MOST:
                break
    return sorted(names)


def summary(root: int, run: str) -> dict[str, Any]:
    """Number and size of a run's files, and when the last of them was changed."""
    found: dict[str, Any] = {"run": run, "files": 0, "size": 0, "changed": 0.0, "left_out": 0}
    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
        for _path, seen, _why in walk(root, run):
            if seen is None:
                found["left_out"] += 1
                continue
            found["files"] += 1
            found["size"] += seen.st_size
            found["changed"] = max(found["changed"], seen.st_mtime)
        found["changed"] = found["changed"] or os.stat(run, dir_fd=root, follow_symlinks=False).st_mtime
    return found


def files(root: int, run: str) -> Iterator[dict[str, Any]]:
    """A run's files (path, size), and what is left out (path, why), some in each answer."""
    good: list[tuple[str, int]] = []
    bad: list[tuple[str, str]] = []
    for path, seen, why in walk(root, run):
        if seen is None:
            bad.append((path, why))
        else:
            good.append((path, seen.st_size))
        if len(good) + len(bad) >= _BATCH:
            yield {"files": good, "left_out": bad}
            good, bad = [], []
    yield {"files": good, "left_out": bad}


def opened(root: int, run: str, path: str) -> int:
    """Open a regular file of a run; none of the folders on the way may be a link.

    Raises:
        OSError: it is not there, or nothing of that kind.
    """
    *folders, name = path.split("/")
    folder = os.open(run, _FOLDER, dir_fd=root)
    try:
        for one in folders:
            inner = os.open(one, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        file = os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "it is not a regular file")
    return file


class Unread(Exception):
    """The frames are not read."""


class Frames:
    """Standard output, whose reader may be gone without a sign: see C(follow_program)."""

    def __init__(self, seconds: int = _UNREAD) -> None:
        self.seconds = seconds
        self.spoken = time.monotonic()
        signal.signal(signal.SIGALRM, self.give_up)

    def give_up(self, _number: int, _frame: FrameType | None) -> NoReturn:
        """Called when the time is over.

        Raises:
            Unread: always.
        """
        raise Unread

    def write(self, kind: bytes, data: bytes) -> None:
        """Write a frame.

        Raises:
            Unread: it is not read.
        """
        self.spoken = time.monotonic()
        rest = memoryview(struct.pack(">cI", kind, len(data)) + data)
        signal.alarm(self.seconds)
        try:
            while rest:
                rest = rest[os.write(1, rest) :]
        finally:
            signal.alarm(0)

    def say(self, message: dict[str, Any]) -> None:
        """Write an answer."""
        self.write(b"J", json.dumps(message).encode())

    def alive(self) -> None:
        """Write something if nothing was written for a while."""
        if time.monotonic() >= self.spoken + _ALIVE:
            self.say({})


def send(root: int, run: str, number: int, path: str, there: int, digest: str, frames: Frames) -> None:
    """Send a file, from where the control node has it: its first C(there) bytes, if they have this SHA-256."""
    try:
        file = opened(root, run, path)
    except OSError as error:
        frames.say({"file": number, "fault": error.strerror})
        return
    try:
        before = os.fstat(file)
        summed = _summed(file, there, digest, frames) if there else None
        start = there if summed is not None else 0
        summed = summed or hashlib.sha256()
        os.lseek(file, start, os.SEEK_SET)
        frames.say({"file": number, "start": start, "size": before.st_size})
        left = before.st_size - start
        while left > 0:
            data = os.read(file, min(CHUNK, left))
            if not data:
                break
            left -= len(data)
            summed.update(data)
            frames.write(b"D", data)
        after = os.fstat(file)
        same = left == 0 and (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        frames.say({"end": number, "sha256": summed.hexdigest(), "same": same})
    except OSError as error:
        frames.say({"file": number, "fault": error.strerror})
    finally:
        os.close(file)


def _summed(file: int, size: int, digest: str, frames: Frames) -> Any:
    """The SHA-256 of the beginning of a file, to be continued; None if it is another one."""
    found = hashlib.sha256()
    left = size
    while left > 0:
        data = os.read(file, min(CHUNK, left))
        if not data:
            return None
        found.update(data)
        left -= len(data)
        frames.alive()
    return found if found.hexdigest() == digest else None


def use(root: int, run: str) -> bool:
    """Mark the outputs of a run as handed to another one now: beside its folder, whose times apps change. Returns whether there are some."""
    if run in runs(root):
        with contextlib.suppress(FileExistsError):
            os.mkdir(_mark(run), dir_fd=root)
        os.utime(_mark(run), dir_fd=root, follow_symlinks=False)
    return run in runs(root)


def used(root: int, run: str) -> float:
    """When the outputs of a run were last handed to another one; 0 for never."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(_mark(run), dir_fd=root, follow_symlinks=False).st_mtime
    return 0.0


def _mark(run: str) -> str:
    return f".used-{run}"


def begin(root: int, run: str, origin: dict[str, str]) -> None:
    """Keep what a run began with: beside its folder, which the app may create itself."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(_origin(run), flags, 0o644, dir_fd=root)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        json.dump(origin, stream)


def began(root: int, run: str) -> Any:
    """What a run began with; nothing if that is not known."""
    try:
        file = os.open(_origin(run), _FILE, dir_fd=root)
        with os.fdopen(file, "rb") as stream:
            return json.loads(stream.read(CHUNK))
    except (OSError, ValueError, RecursionError):  # an app can have written anything
        return {}


def _origin(run: str) -> str:
    return f".began-{run}"


def delete(root: int, run: str) -> None:
    """Delete the folder of a run. It gets another name first: what is deleted only in part is not listed as a run."""
    trash = _set_aside(root, run, f"{run}-")
    for name in (_mark(run), _origin(run)):
        with contextlib.suppress(FileNotFoundError):
            _remove(root, name)
    _empty_trash(root, trash)


def _set_aside(folder: int, name: str, prefix: str = "") -> list[str]:
    """Give an entry the name of something to delete; returns that name, and nothing if there is no such entry."""
    trash = f"{_TRASH}{prefix}{uuid.uuid4().hex}"
    try:
        os.rename(name, trash, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return []
    return [trash]


def _empty_trash(folder: int, own: list[str]) -> None:
    """Delete what was set aside: the given entries, and what earlier requests have left.

    Raises:
        OSError: one of the given entries cannot be deleted. The others do not make a request fail that has nothing to do with them.
    """
    try:
        for name in own:
            with contextlib.suppress(FileNotFoundError):  # another request deletes it as well
                _remove(folder, name)
    finally:
        with os.scandir(folder) as entries:
            left = [entry.name for entry in entries if entry.name.startswith(_TRASH) and entry.name not in own]
        for name in left:
            with contextlib.suppress(OSError):
                _remove(folder, name)


def _remove(root: int, name: str) -> None:
    """Remove a file, or a folder however deep: inner folders are moved up into it, so nothing here goes deep."""
    if not _is_folder(name, root):
        os.unlink(name, dir_fd=root)
        return
    _loosen(name, root)
    top = os.open(name, _FOLDER, dir_fd=root)
    try:
        for _level in range(_LEVELS):
            for one in _names(top):
                if not _is_folder(one, top):
                    os.unlink(one, dir_fd=top)
                    continue
                _loosen(one, top)
                inner = os.open(one, _FOLDER, dir_fd=top)
                try:
                    for child in _names(inner):
                        if _is_folder(child, inner):
                            _loosen(child, inner)
                            os.rename(child, uuid.uuid4().hex, src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=inner)
                finally:
                    os.close(inner)
                with contextlib.suppress(OSError):  # it had more than are listed at once; the next round finds the rest
                    os.rmdir(one, dir_fd=top)
            if not _names(top):
                break
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=root)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _loosen(name: str, folder: int) -> None:
    """Permit to read and change a folder: apps may have made it read-only."""
    mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(name, mode | 0o700, dir_fd=folder)


def unusable(root: int, *, writable: bool) -> str:
    """Why the folder of inputs cannot be used; empty if it can, or is not there. Apps can put anything in its place."""
    try:
        os.close(os.open(INPUTS, _FOLDER, dir_fd=root))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return os.strerror(error.errno or 0)
    access = os.R_OK | os.X_OK | (os.W_OK if writable else 0)
    return "" if os.access(INPUTS, access, dir_fd=root) else os.strerror(errno.EACCES)


def inputs(root: int) -> Iterator[dict[str, Any]]:
    """Inputs: number and size of their files, when they were last handed to a run, and whether all of them are there."""
    try:
        home = os.open(INPUTS, _FOLDER, dir_fd=root)
    except FileNotFoundError:
        return
    try:
        for name in _names(home):
            digest = name[1:-5] if _part(name[1:-5]) == name else name
            if not NAME.fullmatch(digest):
                continue
            with contextlib.suppress(OSError):  # finished or deleted meanwhile, or of someone else
                if not _is_folder(name, home):
                    continue
                used = os.stat(name, dir_fd=home, follow_symlinks=False).st_mtime
                found = summary(home, name)
                yield {
                    "inputs": digest,
                    "whole": name == digest,
                    "files": found["files"],
                    "size": found["size"],
                    "used": used,
                }
    finally:
        os.close(home)


def inputs_used(root: int, digest: str) -> float:
    """When inputs were last handed to a run; 0 if they are not there."""
    found = [0.0]
    for name in (digest, _part(digest)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found.append(os.stat(f"{INPUTS}/{name}", dir_fd=root, follow_symlinks=False).st_mtime)
    return max(found)


def _part(digest: str) -> str:
    return f".{digest}.part"


def look(root: int, digest: str, wanted: list[tuple[str, int, str]]) -> dict[str, Any]:
    """As C(offer), without changing anything."""
    missing: dict[str, Any] = {"ready": False, "there": {}, "bad": []}
    try:
        home = os.open(INPUTS, _FOLDER, dir_fd=root)
    except FileNotFoundError:
        return missing
    try:
        with contextlib.suppress(FileNotFoundError):
            if _same(home, digest, wanted):
                return {"ready": True}
        with contextlib.suppress(FileNotFoundError):
            missing["there"] = {
                path: seen.st_size for path, seen, _why in walk(home, _part(digest)) if seen is not None
            }
        return missing
    finally:
        os.close(home)


def offer(root: int, digest: str, wanted: list[tuple[str, int, str]]) -> dict[str, Any]:
    """Say what of some inputs is there, and finish them when that is everything.

    Args:
        root: the volume.
        digest: their name.
        wanted: path, size and SHA-256 of each file.

    Returns:
        C(ready), whether runs may use them; otherwise C(there), path -> bytes of its beginning, and C(bad), paths of files that had
        another content and are to be sent again.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(INPUTS, dir_fd=root)
    home = os.open(INPUTS, _FOLDER, dir_fd=root)
    try:
        for _race in range(_RACES):
            # Another sender may finish the same meanwhile, or they are deleted.
            with contextlib.suppress(FileNotFoundError):
                return _finished(home, digest, wanted)
        return {"ready": False, "there": {}, "bad": []}
    finally:
        os.close(home)


def _finished(home: int, digest: str, wanted: list[tuple[str, int, str]]) -> dict[str, Any]:
    """As C(offer).

    Raises:
        FileNotFoundError: the folder got another name while it was read.
    """
    with contextlib.suppress(FileNotFoundError):
        if _same(home, digest, wanted):
            os.utime(digest, dir_fd=home, follow_symlinks=False)
            return {"ready": True}
        discard(home, digest, _part(digest))  # an app changed them
    part = _part(digest)
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=home)
    there = _beginnings(home, part, {path: size for path, size, _sha256 in wanted})
    if any(there.get(path) != size for path, size, _sha256 in wanted):
        return {"ready": False, "there": there, "bad": []}
    bad = [path for path, _size, sha256 in wanted if _settled(home, part, path) != sha256]
    for path in bad:
        os.unlink(f"{part}/{path}", dir_fd=home)
        del there[path]
    if bad:
        return {"ready": False, "there": there, "bad": bad}
    _lock(home, part)
    os.rename(part, digest, src_dir_fd=home, dst_dir_fd=home)
    os.utime(digest, dir_fd=home, follow_symlinks=False)
    os.fsync(home)
    return {"ready": True}


def _beginnings(home: int, part: str, sizes: dict[str, int]) -> dict[str, int]:
    """Files of inputs that are not finished, path -> bytes. What cannot be a beginning of one is deleted."""
    there = {}
    for path, seen, _why in walk(home, part):
        if seen is not None and seen.st_size <= sizes.get(path, -1):
            there[path] = seen.st_size
        else:
            with contextlib.suppress(OSError):  # a folder
                os.unlink(f"{part}/{path}", dir_fd=home)
    return there


def _same(home: int, digest: str, wanted: list[tuple[str, int, str]]) -> bool:
    found = {path: seen.st_size if seen else -1 for path, seen, _why in walk(home, digest)}
    if found != {path: size for path, size, _sha256 in wanted}:
        return False
    return all(_settled(home, digest, path) == sha256 for path, _size, sha256 in wanted)


def _settled(home: int, folder: str, path: str) -> str:
    """The SHA-256 of a file that is on the disk."""
    file = opened(home, folder, path)
    try:
        os.fsync(file)
        found = hashlib.sha256()
        _pulse.beat()
        while data := os.read(file, CHUNK):
            found.update(data)
            _pulse.beat()
        return found.hexdigest()
    finally:
        os.close(file)


def _lock(home: int, part: str) -> None:
    """Make everything in a folder read-only, so that no app changes it by accident."""
    folders = {""}
    for path, seen, _why in walk(home, part):
        if seen is not None:
            os.chmod(f"{part}/{path}", 0o444, dir_fd=home)
            folders.update(path[:end] for end, one in enumerate(path) if one == "/")
    for folder in folders:
        _pulse.beat()
        name = f"{part}/{folder}".rstrip("/")
        os.chmod(name, 0o555, dir_fd=home)
        opened_folder = os.open(name, _FOLDER, dir_fd=home)
        os.fsync(opened_folder)
        os.close(opened_folder)


def take(root: int, digest: str, pieces: list[tuple[str, int, int]], floor: int) -> dict[str, Any]:
    """Write pieces of files (path, offset, bytes), which follow on standard input. A volume that is full loses what is not finished.

    Others write, too, so the room is compared with the floor each time.

    Returns:
        C(full), whether less than the floor would be free, and C(gone), whether someone else finished or deleted them: an offer says which.
    """
    full = room(root)["free"] - sum(size for _path, _offset, size in pieces) < floor
    gone = False
    home = os.open(INPUTS, _FOLDER, dir_fd=root)
    try:
        for path, offset, size in pieces:
            file = -1
            try:
                if not full:
                    file = _begun(home, _part(digest), path)
            except (FileNotFoundError, PermissionError):  # they are read-only when they are finished
                gone = True
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                full = True
            try:
                for data in _received(size):  # to the end, so that the sender gets the answer
                    full = full or (file >= 0 and not _write(file, data, offset))
                    offset += len(data)
            finally:
                if file >= 0:
                    os.close(file)
        if full:
            with contextlib.suppress(OSError):  # it is out of the way, and that the volume is full is what is to be said
                discard(home, _part(digest))
        with contextlib.suppress(FileNotFoundError):
            os.utime(_part(digest), dir_fd=home, follow_symlinks=False)  # they are in use: pruning goes by this time
        return {"full": full, "gone": gone}
    finally:
        os.close(home)


def _begun(home: int, part: str, path: str) -> int:
    """Open a file of inputs for writing, and make the folders on the way."""
    *folders, name = path.split("/")
    folder = os.open(part, _FOLDER, dir_fd=home)
    try:
        for one in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(one, dir_fd=folder)
            inner = os.open(one, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=folder
        )
    finally:
        os.close(folder)


def _received(size: int) -> Iterator[bytes]:
    """What comes on standard input; less if the connection is lost. The next offer says what is missing."""
    while size > 0 and (data := sys.stdin.buffer.read(min(CHUNK, size))):
        size -= len(data)
        yield data


def _write(file: int, data: bytes, offset: int) -> bool:
    """Write all of it; False if the volume is full."""
    try:
        while data:
            written = os.pwrite(file, data, offset)
            data, offset = data[written:], offset + written
    except OSError as error:
        if error.errno in _FULL:
            return False
        raise
    return True


def discard(home: int, *names: str) -> None:
    """Delete folders of inputs. They get another name first."""
    _empty_trash(home, [trash for name in names for trash in _set_aside(home, name)])


def discard_from(root: int, digest: str) -> None:
    """Delete inputs of the volume."""
    with contextlib.suppress(FileNotFoundError):
        home = os.open(INPUTS, _FOLDER, dir_fd=root)
        try:
            discard(home, digest, _part(digest))
        finally:
            os.close(home)


def fault(what: Callable[[int, str], None], root: int, name: str) -> str:
    """Do something that may fail; returns why it did."""
    try:
        what(root, name)
    except OSError as error:
        return f"{error.strerror}: {error.filename}"
    return ""


def serve(request: dict[str, Any], root: int) -> None:
    """Answer one request. Sending inputs takes long: C(keep) is the run whose outputs are handed over with them."""
    what = request["do"]
    if "keep" in request:
        use(root, request["keep"])
    if what == "send":
        frames = Frames()
        for number, (path, there, digest) in enumerate(request["files"]):
            send(root, request["run"], number, path, there, digest, frames)
        frames.say({"done": True})
    elif what == "files":
        try:
            for answer in files(root, request["run"]):
                print(json.dumps(answer))
            print(json.dumps({"began": began(root, request["run"])}))
        except (FileNotFoundError, NotADirectoryError):
            print(json.dumps({"missing": True}))
    elif what == "list":
        print(json.dumps({"room": room(root)}))
        for run in runs(root):
            if not request["runs"] or run in request["runs"]:
                print(json.dumps({**summary(root, run), "used": used(root, run)}))
    elif what == "use":
        print(json.dumps({"there": use(root, request["run"])}))
    elif what == "begin":
        begin(root, request["run"], request["origin"])
    elif what in ("inputs", "look", "offer") and (why := unusable(root, writable=what == "offer")):
        print(json.dumps({"fault": why}))
    elif what == "inputs":
        for one in inputs(root):
            print(json.dumps(one))
    elif what in ("look", "offer"):
        answer = (look if what == "look" else offer)(root, request["inputs"][0], request["files"])
        print(json.dumps({**answer, "room": room(root)}))
    elif what == "take":
        print(json.dumps(take(root, request["inputs"][0], request["pieces"], request["floor"])))
    elif what == "delete":
        for run in request["runs"]:
            is_handed = used(root, run) > request["used"].get(run, _EVER)
            why = "it was handed to another run meanwhile" if is_handed else fault(delete, root, run)
            print(json.dumps({"run": run, "fault": why}))
        for name in request.get("inputs", []):
            is_handed = inputs_used(root, name) > request["used"].get(name, _EVER)
            why = "they were handed to another run meanwhile" if is_handed else fault(discard_from, root, name)
            print(json.dumps({"inputs": name, "fault": why}))
    else:
        print(json.dumps({"room": room(root)}))


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.buffer.readline())
    for name in request.get("inputs", []):
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of inputs")
    for run in [request.get("run", "0"), request.get("keep", "0"), *request.get("runs", [])]:
        if not RUN.fullmatch(run):
            raise ValueError(f"{run!r} is not the id of a run")
    root = os.open(request.get("root") or os.environ["FLOWER_OUTPUTS_DIR"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        serve(request, root)
    except (Unread, BrokenPipeError):
        os._exit(1)


if __name__ == "__main__":
    main()
