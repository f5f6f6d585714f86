# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs in a pod with the SuperLink's volume: copies, sends and receives its database.

It is sent by C(flower.in_pod), and each request has the same effect when it is repeated. An answer is a line of JSON; a key C(fault)
in it says why nothing was done. Empty lines before it are signs of life.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

DATABASE = "/data/state.db"
PART = f"{DATABASE}.restore"
COPIES = {"backup": f"{DATABASE}.backup", "standby": f"{DATABASE}.standby"}  # what a copy is for: its file, so that two can be made at a time
BESIDE = ("", "-wal", "-shm", "-journal")  # files of one database
SPARE = 16 * 2**20  # bytes that stay free for the SuperLink
ALIVE = 2.0  # seconds between signs of life


def size_of(path: str) -> int:
    """Bytes of a file; 0 if there is none."""
    return os.path.getsize(path) if os.path.exists(path) else 0


def digest(path: str) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(path: str) -> None:
    """Remove the files of a database."""
    for end in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)


def opened(path: str, mode: str) -> Any:
    """A database that is there, closed at the end of the block."""
    return contextlib.closing(sqlite3.connect(f"file:{quote(path)}?mode={mode}", uri=True, timeout=30))


def damage(path: str) -> str:
    """What SQLite finds wrong; empty for nothing."""
    try:
        with opened(path, "rw") as database:
            (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else str(found)


def lack(needed: int) -> str:
    """Why the volume has no room for so many bytes; empty if it has."""
    there = os.statvfs(os.path.dirname(DATABASE))
    free = there.f_bavail * there.f_frsize
    return "" if free >= needed + SPARE else f"it needs {needed + SPARE} bytes on the SuperLink's volume, and {free} are free"


def place(request: dict[str, Any]) -> str:
    """The file of a copy."""
    return COPIES[request.get("use", "backup")]


def columns(database: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table; none if it is not there."""
    return [row[1] for row in database.execute("SELECT * FROM pragma_table_info(?)", (table,))]


def nobody_is_online(database: sqlite3.Connection) -> None:
    """Let the time pass for which SuperNodes count as online without another sign of life: another SuperLink has not heard of them yet. Their
    next one makes them online (Flower 1.41, C(acknowledge_node_heartbeat))."""
    if "online_until" in columns(database, "node"):
        database.execute("UPDATE node SET online_until = ? WHERE online_until > ?", (time.time(), time.time()))
        database.commit()


def copy(request: dict[str, Any]) -> dict[str, Any]:
    """Copy the database while it is in use, with the online backup of SQLite: one moment of it, whatever is written meanwhile."""
    target_path = place(request)
    remove(target_path)
    if not os.path.exists(DATABASE):
        return {"fault": f"the SuperLink has no database {DATABASE}: one in memory cannot be copied, and is lost when its pod ends"}
    fault = lack(size_of(DATABASE) + size_of(f"{DATABASE}-wal"))
    if fault:
        return {"fault": fault}
    os.close(os.open(target_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with opened(DATABASE, "ro") as source, opened(target_path, "rw") as target:
            source.backup(target)
            if request.get("use") == "standby":
                nobody_is_online(target)
    except sqlite3.DatabaseError as error:
        remove(target_path)
        return {"fault": f"SQLite cannot copy the database: {error}"}
    fault = damage(target_path)
    if fault:
        remove(target_path)
        return {"fault": f"the copy of the database is damaged: {fault}"}
    return {"size": size_of(target_path), "sha256": digest(target_path)}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Bytes of the database, about as many as a copy has, and bytes that are free, with those of a copy that a killed run left."""
    left = sum(size_of(path) for path in COPIES.values())
    there = os.statvfs(os.path.dirname(DATABASE))
    return {"size": size_of(DATABASE) + size_of(f"{DATABASE}-wal"), "free": there.f_bavail * there.f_frsize + left}


def send(request: dict[str, Any]) -> dict[str, Any]:
    """A piece of the copy."""
    with open(place(request), "rb") as file:
        file.seek(request["offset"])
        return {"data": base64.b64encode(file.read(request["size"])).decode("ascii")}


def end(request: dict[str, Any]) -> dict[str, Any]:
    """Remove the copy."""
    remove(place(request))
    return {}


def look(request: dict[str, Any]) -> dict[str, Any]:
    """Whether the database can be put there: it has C(size) bytes and the SHA-256 C(sha256). Another one is replaced with C(replace)."""
    if os.path.exists(DATABASE):
        if digest(DATABASE) == request["sha256"] and not any(size_of(DATABASE + ending) for ending in BESIDE[1:]):
            return {"done": True}
        if not request.get("replace"):
            return {"fault": f"the volume has another database {DATABASE}, which is not replaced"}
    for path in COPIES.values():  # no SuperLink runs here: they are of runs that were killed
        remove(path)
    fault = lack(request["size"] - min(size_of(PART), request["size"]))  # what has arrived before is overwritten
    return {"fault": fault} if fault else {"done": False}


def receive(request: dict[str, Any]) -> dict[str, Any]:
    """Write a piece that follows the request."""
    data = sys.stdin.buffer.read(request["size"])
    handle = os.open(PART, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.seek(request["offset"])
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {"size": len(data)}


def finish(request: dict[str, Any]) -> dict[str, Any]:
    """Put what was received in the database's place, when it is complete and SQLite finds nothing wrong."""
    if not os.path.exists(PART) and os.path.exists(DATABASE):
        return look({**request, "replace": False})  # the answer was lost
    os.truncate(PART, request["size"])
    if digest(PART) != request["sha256"]:
        return {"fault": "the database did not arrive as it was sent. Run again"}
    fault = damage(PART)
    if fault:
        return {"fault": f"the database is damaged: {fault}"}
    for path in (PART, DATABASE):  # what was written beside a former database is not of this one
        for ending in BESIDE[1:]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + ending)
    os.rename(PART, DATABASE)
    folder = os.open(os.path.dirname(DATABASE), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return {}


ACTIONS = {"copy": copy, "measure": measure, "send": send, "end": end, "look": look, "receive": receive, "finish": finish}


@contextlib.contextmanager
def signs_of_life() -> Iterator[None]:
    """Print empty lines while SQLite works, which may take minutes: load balancers before API servers cut connections that are silent for one."""
    over = threading.Event()

    def give() -> None:
        while not over.wait(ALIVE):
            print(flush=True)

    thread = threading.Thread(target=give)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> None:
    """Serve one request."""
    asked = json.loads(sys.stdin.buffer.readline())
    with signs_of_life():
        answer = ACTIONS[asked["action"]](asked)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
