# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the reader of outputs: lists, reads, writes and deletes files on the volume for outputs.

The control node sends this file's text and a request as two lines of JSON on standard input; C(write) has data after them. Answers are lines of
JSON, and empty lines are signs of life; C(read) prints the bytes of files alone. Apps wrote what is read here, and may still write: no link is
followed, nothing but regular files is opened, and nothing is executed.

The outputs of a run are in the folder that its id names. Inputs are in C(inputs/SHA256), named after the SHA-256 of the list of their files. Until
all of them have arrived, the folder is C(inputs/.SHA256.part). The content follows the name, so two senders of the same inputs write the same.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import re
import signal
import stat
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

RUN = re.compile(r"[0-9]{1,20}")
NAME = re.compile(r"[0-9a-f]{64}")
INPUTS = "inputs"
#: Folders within folders, entries of one run, and characters of their paths: both sides have the list in memory.
DEEPEST, MOST, LONGEST = 32, 100_000, 16 * 2**20
CHANGED = 75  # exit code: a file is not what was listed (EX_TEMPFAIL of sysexits.h)
_CHUNK = 256 * 1024
_BEAT = 256  # chunks between signs of life
_UNREAD = 60  # seconds that data may wait to be read; nothing ends this program when the connection is gone
_TRASH = ".deleted-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a named pipe would wait without a limit.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}

Answers = Iterator[dict[str, Any]]


def room(root: int) -> dict[str, Any]:
    """Bytes of the volume, those that are free, and the floor that its owners set."""
    seen = os.fstatvfs(root)
    floor = os.environ.get("FLOWER_OUTPUTS_MIN_FREE", "0")
    return {"size": seen.f_blocks * seen.f_frsize, "free": seen.f_bavail * seen.f_frsize, "floor": floor}


def opened(root: int, path: str, flags: int = _FOLDER, make: bool = False) -> int:
    """Open a file or folder; nothing on the way to it may be a link. C(make) creates the folders on the way.

    Raises:
        OSError: it is not there, or a link is.
    """
    *folders, name = path.split("/")
    folder = os.dup(root)
    try:
        for one in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(one, dir_fd=folder)
            inner = os.open(one, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, flags, 0o644, dir_fd=folder)
    finally:
        os.close(folder)


def names(folder: int) -> list[str]:
    """The names in a folder, so many as are in memory at once."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in itertools.islice(entries, MOST + 1))


def is_folder(name: str, folder: int) -> bool:
    """Whether an entry is a folder, and no link to one."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def walk(folder: int, prefix: str = "", left: list[int] | None = None) -> Iterator[tuple[str, os.stat_result | None, str]]:
    """Everything below a folder, which is closed at the end: path, and either the state of a regular file or why it cannot be read."""
    left = [MOST, LONGEST] if left is None else left
    try:
        for name in names(folder):
            path = prefix + name
            if min(left) < 0:
                return
            left[:] = left[0] - 1, left[1] - len(path)
            if min(left) < 0:
                yield path, None, f"there are more than {MOST} files and folders, or {LONGEST} characters in the names of all files"
                return
            try:
                seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(seen.st_mode) and path.count("/") + 1 < DEEPEST:
                    yield from walk(os.open(name, _FOLDER, dir_fd=folder), path + "/", left)
                elif stat.S_ISDIR(seen.st_mode):
                    yield path, None, f"it is a folder within {DEEPEST} others"
                elif not stat.S_ISREG(seen.st_mode):
                    yield path, None, f"it is {_KINDS.get(stat.S_IFMT(seen.st_mode), 'not a regular file')}"
                elif not os.access(name, os.R_OK, dir_fd=folder):
                    yield path, None, "it may not be read"
                else:
                    yield path, seen, ""
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                yield path, None, f"it cannot be read: {error.strerror}"
    finally:
        os.close(folder)


def pieces(file: int, size: int) -> Iterator[bytes]:
    """So many bytes of a file; fewer if it ends before."""
    while size > 0 and (data := os.read(file, min(_CHUNK, size))):
        size -= len(data)
        yield data


def sha256(root: int, path: str, size: int) -> str:
    """SHA-256 of the first bytes of a file; empty if it cannot be read."""
    found = hashlib.sha256()
    try:
        with os.fdopen(opened(root, path, _FILE), "rb") as file:
            for number, data in enumerate(pieces(file.fileno(), size), 1):
                found.update(data)
                if number % _BEAT == 0:
                    print(flush=True)
    except OSError:
        return ""  # deleted meanwhile
    return found.hexdigest()


def files(root: int, request: dict[str, Any]) -> Answers:
    """The files of a run or of inputs: path, size, time of the last change in nanoseconds, SHA-256; and why others are left out.

    C(hashed) is the number of bytes of which SHA-256 are computed: a file may have a size that no disk has.
    """
    left = request["hashed"]
    head: dict[str, Any] = {"room": room(root)}
    try:
        if "run" in request:
            place = request["run"]
            head["began"] = began(root, place)
        else:
            os.close(opened(root, INPUTS))
            place = f"{INPUTS}/{request['inputs'][0]}"
            head["whole"] = is_folder(place, root)
            place = place if head["whole"] else f"{INPUTS}/{part(request['inputs'][0])}"
        folder = opened(root, place)
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError) or "run" in request
        yield {**head, "missing": True} if is_absent else {**head, "fault": error.strerror}
        return
    yield head
    for path, seen, why in walk(folder):
        if seen is None:
            yield {"left_out": [path, why]}
        else:
            size = seen.st_size if seen.st_size <= left else -1
            left -= max(size, 0)
            digest = sha256(root, f"{place}/{path}", size) if size >= 0 else ""
            yield {"file": [path, seen.st_size, seen.st_mtime_ns, digest]}


def read(root: int, request: dict[str, Any]) -> Answers:
    """Print files of a run one after the other, each from an offset to the end that was listed."""
    for path, offset, size, mtime in request["files"]:
        try:
            with os.fdopen(opened(root, f"{request['run']}/{path}", _FILE), "rb") as file:
                if not is_same(file.fileno(), size, mtime):
                    changed(path, "it was changed")
                os.lseek(file.fileno(), offset, os.SEEK_SET)
                for data in pieces(file.fileno(), size - offset):
                    signal.alarm(_UNREAD)  # ends the program
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
                    signal.alarm(0)
                if not is_same(file.fileno(), size, mtime):
                    changed(path, "it was changed while it was read")
        except BrokenPipeError:
            raise
        except OSError as error:
            changed(path, f"{error.strerror}")
    yield from ()


def is_same(file: int, size: int, mtime: int) -> bool:
    """Whether an open file is a regular one with this size and time."""
    seen = os.fstat(file)
    return stat.S_ISREG(seen.st_mode) and (seen.st_size, seen.st_mtime_ns) == (size, mtime)


def changed(path: str, why: str) -> NoReturn:
    """End the program: a file is not what was listed."""
    sys.stderr.write(f"{path}: {why}")
    sys.exit(CHANGED)


def listed(root: int, request: dict[str, Any]) -> Answers:
    """Room, then number and size of the files of runs and of inputs, when the last of them was changed, and when they were last handed to a run."""
    yield {"room": room(root)}
    for run in sorted((one for one in names(root) if RUN.fullmatch(one) and is_folder(one, root)), key=int):
        if not request["runs"] or run in request["runs"]:
            yield {"run": run, **summary(root, run), "used": used(root, run)}
    try:
        home = opened(root, INPUTS)
    except FileNotFoundError:
        return
    except OSError as error:
        yield {"fault": error.strerror}
        return
    for name in names(home):
        digest = name[1:-5] if name.startswith(".") else name
        if name in (digest, part(digest)) and NAME.fullmatch(digest) and is_folder(name, home):
            with contextlib.suppress(OSError):  # finished or deleted meanwhile, or of someone else
                seen = os.stat(name, dir_fd=home, follow_symlinks=False)
                yield {"inputs": digest, "whole": name == digest, **summary(home, name), "used": seen.st_mtime}
    os.close(home)


def summary(root: int, name: str) -> dict[str, Any]:
    """Number and size of the files below a folder, and when the last of them was changed."""
    found: dict[str, Any] = {"files": 0, "size": 0, "changed": 0.0, "left_out": 0}
    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
        for _path, seen, _why in walk(opened(root, name)):
            if seen is None:
                found["left_out"] += 1
                continue
            found["files"] += 1
            found["size"] += seen.st_size
            found["changed"] = max(found["changed"], seen.st_mtime)
        found["changed"] = found["changed"] or os.stat(name, dir_fd=root, follow_symlinks=False).st_mtime
    return found


def mark(root: int, run: str) -> bool:
    """Mark the outputs of a run as handed to another one now: beside its folder, whose times apps change. Returns whether there are some."""
    if is_folder(run, root):
        with contextlib.suppress(FileExistsError):
            os.mkdir(f".used-{run}", dir_fd=root)
        os.utime(f".used-{run}", dir_fd=root, follow_symlinks=False)
    return is_folder(run, root)


def used(root: int, *names_of_marks: str) -> float:
    """When outputs of a run, or inputs, were last handed to a run; 0 for never."""
    found = [0.0]
    for name in names_of_marks:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found.append(os.stat(f".used-{name}" if RUN.fullmatch(name) else name, dir_fd=root, follow_symlinks=False).st_mtime)
    return max(found)


def began(root: int, run: str) -> Any:
    """What a run began with; nothing if that is not known."""
    try:
        with os.fdopen(opened(root, f".began-{run}", _FILE), "rb") as file:
            return json.loads(file.read(_CHUNK))
    except (OSError, ValueError, RecursionError):  # an app can have written anything
        return {}


def part(name: str) -> str:
    """The folder of inputs that have not arrived completely."""
    return f".{name}.part"


def write(root: int, request: dict[str, Any]) -> Answers:
    """Write the bytes that follow on standard input to files of inputs, each from an offset. With less than the C(floor) left, nothing of them stays."""
    folder = f"{INPUTS}/{part(request['inputs'][0])}"
    data = memoryview(sys.stdin.buffer.read(sum(size for _path, _offset, size in request["files"])))
    try:
        if room(root)["free"] - len(data) < request["floor"]:
            raise OSError(errno.ENOSPC, "less than the floor is left")
        for path, offset, size in request["files"]:
            flags = _NEW if offset else _NEW | os.O_TRUNC
            with os.fdopen(opened(root, f"{folder}/{path}", flags, make=True), "wb") as file:
                file.seek(offset)
                file.write(data[:size])
            data = data[size:]
        os.utime(folder, dir_fd=root, follow_symlinks=False)  # they are in use: pruning goes by this time
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        with contextlib.suppress(OSError):  # that the volume is full is what is to be said
            delete(opened(root, INPUTS), part(request["inputs"][0]))
        yield {"full": True}
        return
    yield {"full": False}


def finish(root: int, request: dict[str, Any]) -> Answers:
    """Give inputs that were compared their name, read-only, and count those that have it as used now."""
    home, name = opened(root, INPUTS), request["inputs"][0]
    if not is_folder(name, home):
        for _path, _folders, inside, folder in os.fwalk(part(name), topdown=False, dir_fd=home):
            for one in inside:
                os.chmod(one, 0o444, dir_fd=folder)
            os.fchmod(folder, 0o555)
        os.rename(part(name), name, src_dir_fd=home, dst_dir_fd=home)
    os.utime(name, dir_fd=home, follow_symlinks=False)
    delete(home, part(name))  # of a sender that came too late
    yield {"ready": True}


def delete(folder: int, *gone: str) -> None:
    """Delete entries. They get another name first: what is deleted only in part is not listed. What earlier requests have left goes as well.

    Raises:
        OSError: one of the entries cannot be deleted.
    """
    own = []
    for name in gone:
        own.append(f"{_TRASH}{name}-{uuid.uuid4().hex}")
        with contextlib.suppress(FileNotFoundError):
            os.rename(name, own[-1], src_dir_fd=folder, dst_dir_fd=folder)
    for name in (*own, *(one for one in names(folder) if one.startswith(_TRASH))):
        try:
            remove(folder, name)
        except OSError as error:
            if name in own and not isinstance(error, FileNotFoundError):
                raise


def remove(folder: int, name: str) -> None:
    """Remove a file, or a folder however deep: folders are moved up out of inner ones, so nothing here goes deep."""
    if not is_folder(name, folder):
        os.unlink(name, dir_fd=folder)
        return
    top = loosened(folder, name)
    try:
        while inside := names(top):
            for one in inside:
                if is_folder(one, top):
                    inner = loosened(top, one)
                    for child in names(inner):
                        if is_folder(child, inner):
                            os.close(loosened(inner, child))  # one that is moved has to be writable
                            os.rename(child, uuid.uuid4().hex, src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=inner)
                    os.close(inner)
                    with contextlib.suppress(OSError):  # it had more names than are listed at once
                        os.rmdir(one, dir_fd=top)
                else:
                    os.unlink(one, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=folder)


def loosened(folder: int, name: str) -> int:
    """Open a folder that apps may have made read-only."""
    if (mode := stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)) & 0o700 != 0o700:
        os.chmod(name, mode | 0o700, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def deleted(root: int, request: dict[str, Any]) -> Answers:
    """Delete outputs of runs and inputs, but for those that were handed to a run since C(used); why some could not be deleted."""
    for kind, place in (("runs", "."), ("inputs", f"{INPUTS}/.")):
        for name in request[kind]:
            why = ""
            try:
                home = opened(root, place)
                same = [name] if kind == "runs" else [name, part(name)]
                if used(home, *same) > request["used"].get(name, float("inf")):
                    why = "it was handed to another run meanwhile"
                else:
                    delete(home, *same, *([f".used-{name}", f".began-{name}"] if kind == "runs" else []))
                os.close(home)
            except FileNotFoundError:
                pass  # there are no inputs
            except OSError as error:
                why = f"{error.strerror}: {error.filename}"
            yield {"name": name, "fault": why}


def begin(root: int, request: dict[str, Any]) -> Answers:
    """Keep what a run began with: beside its folder, which the app may create itself."""
    with os.fdopen(opened(root, f".began-{request['run']}", _NEW | os.O_TRUNC), "w", encoding="utf-8") as file:
        json.dump(request["origin"], file)
    yield {}


def use(root: int, request: dict[str, Any]) -> Answers:
    """Mark the outputs of a run as handed to another one; whether there are some."""
    yield {"there": mark(root, request["run"])}


def main() -> None:
    """Serve one request. Sending inputs takes long: C(keep) is the run whose outputs are handed over with them."""
    request = json.loads(sys.stdin.buffer.readline())
    for name in request.get("inputs", []):
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of inputs")
    for run in [request.get("run", "0"), request.get("keep", "0"), *request.get("runs", [])]:
        if not RUN.fullmatch(run):
            raise ValueError(f"{run!r} is not the id of a run")
    root = os.open(os.environ["FLOWER_OUTPUTS_DIR"], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if "keep" in request:
        mark(root, request["keep"])
    for answer in ACTIONS[request["do"]](root, request):
        print(json.dumps(answer, separators=(",", ":")), flush=True)


ACTIONS: dict[str, Callable[[int, dict[str, Any]], Answers]] = {
    "room": lambda root, _request: iter([{"room": room(root)}]), "list": listed, "files": files, "read": read, "write": write, "finish": finish,
    "delete": deleted, "begin": begin, "use": use,
}  # fmt: skip

if __name__ == "__main__":
    main()
