# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs in a pod with the volume for outputs: lists, sends, receives and removes its files.

It is sent by C(flower.in_pod), and each request has the same effect when it is repeated. Apps wrote what is read here: no link is followed, and
nothing but regular files is opened. A file that arrives is in C(STAGING) until all of it is there.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

ROOT = "/outputs"
STAGING = ".arriving"
#: What is passed over at the top: files that arrive, what is being deleted, and what the file system keeps for itself (NetApp: copies of everything).
PASSED = (STAGING, ".deleted-", "lost+found", ".snapshot")
MOST = 200_000  # files: the control node has their names in memory
DEEPEST = 40
_BATCH = 500
_ALIVE = 2.0  # seconds between signs of life: empty lines
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Request = dict[str, Any]


def walk(folder: int, prefix: str, deep: int) -> Iterator[tuple[str, os.stat_result | None]]:
    """Everything that is not a folder: its path, and its state where it is a file that can be read."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if not prefix and name.startswith(PASSED):
            continue
        try:
            seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(seen.st_mode):
                good = stat.S_ISREG(seen.st_mode) and os.access(name, os.R_OK, dir_fd=folder)
                yield prefix + name, seen if good else None
            elif deep >= DEEPEST:
                yield prefix + name, None
            else:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    yield from walk(inner, f"{prefix}{name}/", deep + 1)
                finally:
                    os.close(inner)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except PermissionError:
            yield prefix + name, None


def listed(root: int) -> Iterator[dict[str, Any]]:
    """The files, [path, size, time in nanoseconds], and the paths of what else there is, some in each answer."""
    files: list[list[Any]] = []
    others: list[str] = []
    spoken = time.monotonic()
    for count, (path, seen) in enumerate(walk(root, "", 0), 1):
        if count > MOST:
            yield {"fault": f"there are more than {MOST} files on the volume for outputs: remove those that are not needed (federated.flower.outputs)"}
            return
        if seen is None:
            others.append(path)
        else:
            files.append([path, seen.st_size, seen.st_mtime_ns])
        if len(files) + len(others) >= _BATCH:
            yield {"files": files, "others": others}
            files, others = [], []
        if time.monotonic() >= spoken + _ALIVE:
            spoken = time.monotonic()
            print(flush=True)
    yield {"files": files, "others": others}


def parted(path: str) -> list[str]:
    """The parts of a path.

    Raises:
        ValueError: it leads somewhere else.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is not a path of a file")
    return parts


def loosen(folder: int) -> None:
    """Have a folder writable for its owner, which is this program's user: inputs are locked, and apps lock what they like."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        with contextlib.suppress(OSError):  # of someone else: what is done in it says so
            os.chmod(folder, mode | stat.S_IRWXU)


def opened_folder(root: int, folders: list[str], *, make: bool) -> int:
    """A folder, none of whose parents is a link. With C(make) it is made, in place of anything else of that name."""
    at = os.dup(root)
    for name in folders:
        try:
            inner = os.open(name, _FOLDER, dir_fd=at)
        except OSError:
            if not make:
                os.close(at)
                raise
            loosen(at)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=at)
            os.mkdir(name, dir_fd=at)
            inner = os.open(name, _FOLDER, dir_fd=at)
        os.close(at)
        at = inner
    return at


def pack(root: int, request: Request) -> dict[str, Any]:
    """Pieces of files, one after the other. Of a file that is gone or shorter there is less, and nothing of one that has another size or time
    than those that are given with a piece: its other pieces would be of another version."""
    data, sizes = bytearray(), []
    for path, offset, size, *facts in request["pieces"]:
        *folders, name = parted(path)
        found = b""
        with contextlib.suppress(OSError):
            folder = opened_folder(root, folders, make=False)
            try:
                with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                    file.seek(offset)
                    found = file.read(size)
                    seen = os.fstat(file.fileno())
                    if facts and [seen.st_size, seen.st_mtime_ns] != facts:
                        found = b""
            finally:
                os.close(folder)
        data += found
        sizes.append(len(found))
    return {"sizes": sizes, "sha256": hashlib.sha256(data).hexdigest(), "data": base64.b64encode(data).decode("ascii")}


def is_there(root: int, path: str, size: int, changed: int) -> bool:
    """Whether a file has arrived."""
    *folders, name = parted(path)
    with contextlib.suppress(OSError):
        folder = opened_folder(root, folders, make=False)
        try:
            seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        finally:
            os.close(folder)
        return stat.S_ISREG(seen.st_mode) and (seen.st_size, seen.st_mtime_ns) == (size, changed)
    return False


def unpack(root: int, request: Request) -> dict[str, Any]:
    """Write pieces that follow the request; a file with its last piece gets its name, and its time."""
    pieces = request["pieces"]
    data = memoryview(sys.stdin.buffer.read(sum(piece[2] for piece in pieces)))
    if hashlib.sha256(data).hexdigest() != request["sha256"]:
        return {"fault": "the files did not arrive as they were sent. Run again"}
    staging = opened_folder(root, [STAGING], make=True)
    try:
        at = 0
        for path, offset, size, total, changed in pieces:
            *folders, name = parted(path)
            staged = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISREG(os.stat(staged, dir_fd=staging, follow_symlinks=False).st_mode):
                    clear(staging, staged)
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(staged, flags, 0o644, dir_fd=staging), "wb") as file:
                if os.fstat(file.fileno()).st_size < offset:
                    os.unlink(staged, dir_fd=staging)
                    if is_there(root, path, total, changed):
                        at += size
                        continue  # the answer was lost
                    return {"fault": f"a part of {path!r} is missing. Run again"}
                file.seek(offset)
                file.write(data[at : at + size])
                file.truncate()
                file.flush()
                if offset + size == total:
                    os.fsync(file.fileno())
            at += size
            if offset + size < total:
                continue
            os.utime(staged, ns=(changed, changed), dir_fd=staging, follow_symlinks=False)
            folder = opened_folder(root, folders, make=True)
            try:
                loosen(folder)
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=folder)  # an empty folder of a file that was below it
                os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=folder)
            finally:
                os.close(folder)
    except OSError as error:
        return {"fault": f"the volume for outputs cannot be written to: {error.strerror}"}
    finally:
        os.close(staging)
    return {}


def remove(root: int, request: Request) -> dict[str, Any]:
    """Remove files, and the folders that are empty then. The answer has how many are still there."""
    kept = 0
    for path in request["paths"]:
        folders = parted(path)
        name = folders.pop()
        try:
            folder = opened_folder(root, folders, make=False)
            try:
                loosen(folder)
                os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)
        except (FileNotFoundError, NotADirectoryError):
            pass  # it is gone
        except OSError:
            kept += 1
        while folders:
            name = folders.pop()
            try:
                folder = opened_folder(root, folders, make=False)
            except OSError:
                continue
            try:
                loosen(folder)
                os.rmdir(name, dir_fd=folder)
            except OSError:
                break
            finally:
                os.close(folder)
    return {"kept": kept}


def probe(root: int, request: Request) -> dict[str, Any]:
    """Leave an empty file of a name that was never asked for (C(do) is C(leave)), look for it, or delete it (C(take)). The answer has whether
    it is there: two volumes may be one."""
    name = f"{STAGING}-{request['token']}"
    if request["do"] == "leave":
        with contextlib.suppress(OSError):  # a volume that is full is for the copy to empty
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=root))
    elif request["do"] == "take":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=root)
    try:
        os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return {"seen": False}
    return {"seen": True}


def is_folder(folder: int, name: str) -> bool:
    """Whether it is one, and its owner may change it then."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IMODE(mode) | stat.S_IRWXU, dir_fd=folder)
    return stat.S_ISDIR(mode)


def clear(root: int, name: str) -> None:
    """Remove what an app put in a place: a file of any kind, or a folder however deep, whose inner ones are moved up, so nothing here goes deep."""
    if not is_folder(root, name):
        os.unlink(name, dir_fd=root)
        return
    top = os.open(name, _FOLDER, dir_fd=root)
    try:
        while names := os.listdir(top):
            for one in names:
                if not is_folder(top, one):
                    os.unlink(one, dir_fd=top)
                    continue
                inner = os.open(one, _FOLDER, dir_fd=top)
                try:
                    for child in os.listdir(inner):
                        if is_folder(inner, child):
                            os.rename(child, os.urandom(16).hex(), src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(one, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=root)


def tidy(root: int, request: Request) -> dict[str, Any]:
    """Remove what arrived only in part."""
    try:
        with contextlib.suppress(FileNotFoundError):
            clear(root, STAGING)
    except OSError as error:
        return {"fault": f"{STAGING} on the volume for outputs cannot be removed: {error.strerror}. Remove it there"}
    return {}


def sums(root: int, request: Request) -> dict[str, Any]:
    """SHA-256 of files; empty where one cannot be read."""
    found = []
    for path in request["paths"]:
        *folders, name = parted(path)
        summed = ""
        with contextlib.suppress(OSError):
            folder = opened_folder(root, folders, make=False)
            try:
                with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                    summed = hashlib.file_digest(file, "sha256").hexdigest()
            finally:
                os.close(folder)
        found.append(summed)
    return {"sums": found}


def room(root: int, request: Request) -> dict[str, Any]:
    """Bytes that are free."""
    there = os.fstatvfs(root)
    return {"free": there.f_bavail * there.f_frsize}


ACTIONS = {"sums": sums, "room": room, "pack": pack, "unpack": unpack, "remove": remove, "probe": probe, "tidy": tidy}


def main(request: Request) -> Iterator[dict[str, Any]]:
    """The answers to a request."""
    root = os.open(ROOT, _FOLDER)
    try:
        if request["action"] == "list":
            yield from listed(root)
        else:
            yield ACTIONS[request["action"]](root, request)
    finally:
        os.close(root)


if __name__ == "__main__":
    for one in main(json.loads(sys.stdin.buffer.readline())):
        print(json.dumps(one), flush=True)
